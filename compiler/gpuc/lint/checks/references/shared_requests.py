"""Requests for shared GPUs that the device plugin refuses: more than one of them in a container."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gpuc.diagnostics.finding import Severity, declare_rule
from gpuc.lint.checks.references.gpu_configs import DEVICE_PLUGIN, choices
from gpuc.objects.embedded import document
from gpuc.objects.index import Index
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import dig, items, pairs

MORE_THAN_ONE = declare_rule(
    "REF083",
    Severity.ERROR,
    "A container asks for more than one piece of a shared GPU, which the device plugin is told to refuse.",
    "The kubelet ends the pod with UnexpectedAdmissionError; its controller makes another, which ends the same way.",
    "k8s-device-plugin v0.20.0, README.md (failRequestsGreaterThanOne)",
)
_SHARED = ".shared"
_KINDS = ("timeSlicing", "mps")


def findings(index: Index) -> Iterator[ObjectFinding]:
    """Limits and requests above one, of resources of which every configuration in the tree gives one at a time."""
    asked = [each for each in index.pods if any(name.endswith(_SHARED) for _, name in each.resources())]
    refused = _refused(index) if asked else set()
    for each in asked if refused else ():
        for path, container in each.containers():
            amounts = {
                name: (*path, "resources", part, name)
                for part in ("requests", "limits")
                for name, amount in pairs(dig(container, "resources", part))
                if name in refused and _is_more_than_one(amount)
            }
            for name, where in amounts.items():
                message = f"more than one {name}; the device plugin's configuration gives a container one at most"
                yield ObjectFinding(MORE_THAN_ONE, each.manifest, where, message)


def _refused(index: Index) -> set[str]:
    """Resources of which no configuration of the device plugin gives more than one."""
    known = [each for each in choices(index) if each.part == DEVICE_PLUGIN]
    strict: set[str] = set()
    lenient: set[str] = set()
    for each in known:
        for text in each.texts.values():
            said = document(index.tree, text)
            for kind in _KINDS:
                sharing = dig(said, "sharing", kind)
                (strict if _fails(sharing, kind) else lenient).update(_names(sharing))
    return strict - lenient


def _fails(sharing: Any, kind: str) -> bool:
    """Whether more than one is refused: by MPS always, unless it is told otherwise."""
    said = dig(sharing, "failRequestsGreaterThanOne")
    return said is True or (said is None and kind == "mps")


def _names(sharing: Any) -> Iterator[str]:
    """Names that shared devices get; those that keep the name of whole ones are left out."""
    for _, each in items(dig(sharing, "resources")):
        name, other = dig(each, "name"), dig(each, "rename")
        if isinstance(other, str):
            yield other
        elif isinstance(name, str) and dig(sharing, "renameByDefault") is True:
            yield f"{name}{_SHARED}"


def _is_more_than_one(amount: Any) -> bool:
    text = str(amount)
    return text.isascii() and text.isdigit() and text.lstrip("0") not in ("", "1")

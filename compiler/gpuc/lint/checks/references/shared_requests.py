from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from gpuc.cluster.index import Index
from gpuc.lint.checks import Findings, check, rule_of
from gpuc.lint.checks.references.gpu_configs import DEVICE_PLUGIN, configurations
from gpuc.objects.embedded import document
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import ObjectSet, dig, items, pairs

MORE_THAN_ONE = rule_of("REF083")
SHARED = ".shared"
_KINDS = ("timeSlicing", "mps")
_MORE_THAN_ONE = re.compile("0*(?:[2-9]|[1-9][0-9]+)")


@check(MORE_THAN_ONE)
def findings(objects: ObjectSet) -> Findings:
    """Yields findings about requests and limits above one for resources that all configurations limit to one."""
    index = objects.once(Index)
    requesting = [pods for pods in index.pods if any(name.endswith(SHARED) for _, name in pods.resources())]
    refused = _refused(index) if requesting else set()
    for pods in requesting if refused else ():
        for path, container in pods.containers():
            amounts = {
                name: (*path, "resources", field, name)
                for field in ("requests", "limits")
                for name, amount in pairs(dig(container, "resources", field))
                if name in refused and _MORE_THAN_ONE.fullmatch(str(amount))
            }
            for name, amount_path in amounts.items():
                message = f"the container requests more than one {name}, but the device plugin's configuration "
                yield ObjectFinding(MORE_THAN_ONE, pods.manifest, amount_path, f"{message}allows one")


def _refused(index: Index) -> set[str]:
    """Returns the resources of which no configuration of the device plugin allows more than one."""
    known = [configs for configs in configurations(index) if configs.part == DEVICE_PLUGIN]
    strict: set[str] = set()
    lenient: set[str] = set()
    for text in (text for configs in known for text in configs.texts.values()):
        config = document(index.tree, text)
        for kind in _KINDS:
            sharing = dig(config, "sharing", kind)
            setting = dig(sharing, "failRequestsGreaterThanOne")
            is_strict = setting is True or (setting is None and kind == "mps")  # the default with MPS
            (strict if is_strict else lenient).update(_names(sharing))
    return strict - lenient


def _names(sharing: Any) -> Iterator[str]:
    """Yields the names of shared resources, except for resources that keep the name of unshared devices."""
    for _, row in items(dig(sharing, "resources")):
        name, new_name = dig(row, "name"), dig(row, "rename")
        if isinstance(new_name, str):
            yield new_name
        elif isinstance(name, str) and dig(sharing, "renameByDefault") is True:
            yield f"{name}{SHARED}"

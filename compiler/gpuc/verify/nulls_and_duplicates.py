"""The tree of objects as a whole: nothing empty without a meaning, nothing twice, files in one piece."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from gpuc.diagnostics.finding import Severity, fault
from gpuc.manifest.manifest import Manifest
from gpuc.objects.flaw import Flaw

MEANINGLESS = fault(
    "SCH007",
    Severity.ERROR,
    "An object has a null, or an empty map or list that says nothing.",
    "The API server drops it, so Argo CD shows a difference that no sync ends, or it means all instead of none.",
)
TWICE = fault(
    "SCH008",
    Severity.ERROR,
    "One object is emitted twice, or the objects of one file do not follow one another.",
    "The later object wins, by chance of order; an interleaved file is written in pieces.",
)

_MEANINGFUL = frozenset(
    {
        "automated", "clusterResourceWhitelist", "egress", "emptyDir", "ingress", "labelSelector",
        "namespaceResourceWhitelist", "namespaceSelector", "podSelector", "selector",
    }
)  # fmt: skip
"""Fields in which empty says something else than absent: everything selected, no rule, the default volume."""
_PARAMETERS = ("spec", "parameters")
"""Of a constraint: an empty list in them is what its policy compares with."""
_OPEN = "openAPIV3Schema"
"""Beneath it stands a schema, whose empty parts are a matter of its own."""


def verify_shape(manifests: Sequence[Manifest]) -> list[Flaw]:
    """Nulls, empty containers, objects that stand twice, and files whose objects are scattered."""
    return [
        *(flaw for manifest in manifests for flaw in _meaningless(manifest)),
        *_duplicates(manifests),
        *_interleaved(manifests),
    ]


def _meaningless(manifest: Manifest) -> Iterator[Flaw]:
    for path in _empties(manifest.body):
        yield Flaw(MEANINGLESS, manifest, path, "null or empty, leave it out")


def _empties(body: dict[str, Any]) -> Iterator[tuple[str | int, ...]]:
    """Paths of nulls and of empty containers without a meaning."""
    waiting: list[tuple[tuple[str | int, ...], Any]] = [((), body)] if body else []
    while waiting:
        path, value = waiting.pop()
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for step, child in items:
            if child is None:
                yield (*path, step)
            elif isinstance(child, (dict, list)):
                if child:
                    if step != _OPEN:
                        waiting.append(((*path, step), child))
                elif step not in _MEANINGFUL and path[:2] != _PARAMETERS:
                    yield (*path, step)


def _duplicates(manifests: Sequence[Manifest]) -> Iterator[Flaw]:
    first: dict[tuple[str, str, str, str], Manifest] = {}
    for manifest in manifests:
        group = manifest.api.rpartition("/")[0]
        before = first.setdefault((group, manifest.kind, manifest.namespace, manifest.name), manifest)
        if before is not manifest:
            yield Flaw(TWICE, manifest, (), f"stands in {before.file} already")


def _interleaved(manifests: Sequence[Manifest]) -> Iterator[Flaw]:
    ended: set[str] = set()
    current = ""
    for manifest in manifests:
        if manifest.file != current:
            if manifest.file in ended:
                yield Flaw(TWICE, manifest, (), f"is apart from its file's others, after objects of {current}")
            ended.add(current)
            current = manifest.file

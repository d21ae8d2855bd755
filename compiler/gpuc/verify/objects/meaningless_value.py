from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from gpuc.objects.object_finding import ObjectFinding
from gpuc.verify import check

if TYPE_CHECKING:
    from gpuc.verify.subject import Subject

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


@check("SCH007")
def meaningless_value(subject: Subject) -> Iterator[ObjectFinding]:
    """An object has a null, or an empty map or list that says nothing.

    The API server drops it, so Argo CD shows a difference that no sync ends, or it means all instead of none.
    """
    for manifest in subject.tree.manifests:
        for path in _empties(manifest.body):
            yield ObjectFinding(meaningless_value.rule, manifest, path, "null or empty, leave it out")


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

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gpuc.objects.object_finding import ObjectFinding
from gpuc.verify import Findings, check
from gpuc.verify.subject import Subject

_MEANINGFUL = frozenset(
    {
        "automated", "clusterResourceWhitelist", "egress", "emptyDir", "endpointSelector", "ingress",
        "labelSelector", "namespaceResourceWhitelist", "namespaceSelector", "podSelector", "selector",
    }
)  # fmt: skip
"""Fields whose empty value has a meaning: to select everything, to allow nothing, or to use the default volume."""
_RULES = ("egress", "ingress")
"""Lists of rules of NetworkPolicies. An empty rule allows all traffic."""
_PARAMETERS = ("spec", "parameters")
"""The path of a constraint's parameters. The policy may compare values with an empty list."""
_SCHEMA = "openAPIV3Schema"
"""The key of a schema. Empty values in a schema are valid."""


@check("SCH007")
def meaningless_value(subject: Subject) -> Findings:
    """An object has a null, or an empty map or list that has no meaning.

    The API server drops the value, and Argo CD reports OutOfSync forever; or a selector selects all instead of none.
    """
    for manifest in subject.objects.manifests:
        for path in _empties(manifest.body):
            yield ObjectFinding(meaningless_value.rule, manifest, path, "null or empty: remove the field")


def _empties(body: dict[str, Any]) -> Iterator[tuple[str | int, ...]]:
    """Yields the paths of nulls and of empty maps and lists that have no meaning."""
    waiting: list[tuple[tuple[str | int, ...], Any]] = [((), body)] if body else []
    while waiting:
        path, value = waiting.pop()
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for step, child in items:
            if child is None:
                yield (*path, step)
            elif isinstance(child, (dict, list)):
                if child:
                    if step != _SCHEMA:
                        waiting.append(((*path, step), child))
                elif not _is_meaningful(path, step) and path[:2] != _PARAMETERS:
                    yield (*path, step)


def _is_meaningful(path: tuple[str | int, ...], step: str | int) -> bool:
    return path[-1] in _RULES if isinstance(step, int) and path else step in _MEANINGFUL

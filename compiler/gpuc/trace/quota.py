"""Read ClusterQueues and Cohorts into Kueue's quota tree."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from gpuc.diagnostics.finding import Path
from gpuc.kubernetes import quota
from gpuc.kubernetes.amounts import amount
from gpuc.kubernetes.quota import Key, Quota
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import dig, items


@dataclass(eq=False)
class Node(quota.Node):
    """A ClusterQueue or a Cohort, with its object."""

    manifest: Manifest | None = None
    """None for a Cohort without an object, which exists because a queue references it."""

    def path(self, key: Key) -> Path:
        """The path of the quota of a resource: ("spec", "resourceGroups", 0, "flavors", 1, "resources", 2)."""
        return next((path for found, path, _ in _rows(self.manifest) if found == key), ())


def quota_nodes(queues: Iterable[Manifest], cohorts: Iterable[Manifest]) -> list[Node]:
    """All ClusterQueues and Cohorts, parents before children."""
    return quota.connect(
        [_node(queue, ("cohortName", "cohort"), is_queue=True) for queue in queues],
        [_node(cohort, ("parentName", "parent")) for cohort in cohorts],
        Node,
    )


def _node(manifest: Manifest, keys: tuple[str, str], *, is_queue: bool = False) -> Node:
    spec = dig(manifest.body, "spec")
    parent = next((name for key in keys if isinstance(name := dig(spec, key), str) and name), "")
    quotas = {key: figures for key, _, row in _rows(manifest) if (figures := _quota(key[1], row)) is not None}
    return Node(manifest.name, is_queue, parent, quotas, manifest=manifest)


def _rows(manifest: Manifest | None) -> Iterator[tuple[Key, Path, Any]]:
    for g, group in items(dig(manifest.body if manifest else None, "spec", "resourceGroups")):
        for f, flavor in items(dig(group, "flavors")):
            for r, row in items(dig(flavor, "resources")):
                name, resource = dig(flavor, "name"), dig(row, "name")
                if isinstance(name, str) and isinstance(resource, str):
                    yield (name, resource), ("spec", "resourceGroups", g, "flavors", f, "resources", r), row


def _quota(resource: str, row: Any) -> Quota | None:
    nominal, *limits = (amount(resource, dig(row, key)) for key in ("nominalQuota", "borrowingLimit", "lendingLimit"))
    return None if nominal is None else Quota(nominal, *limits)

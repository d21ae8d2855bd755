"""Reads ClusterQueues and Cohorts into the quota tree of Kueue."""

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
    """The ClusterQueue or Cohort; None for a cohort without an object, which Kueue creates for a reference."""

    def path(self, key: Key) -> Path:
        """Returns the path of a quota: ("spec", "resourceGroups", 0, "flavors", 1, "resources", 2), or an empty path.

        Args:
            key: the flavor and the resource.
        """
        return next((path for row_key, path, _ in _rows(self.manifest) if row_key == key), ())


def quota_nodes(queues: Iterable[Manifest], cohorts: Iterable[Manifest]) -> list[Node]:
    """Returns the connected nodes of all ClusterQueues and Cohorts, parents before children."""
    return quota.connect(
        [_node(queue, ("cohortName", "cohort"), is_queue=True) for queue in queues],
        [_node(cohort, ("parentName", "parent")) for cohort in cohorts],
        Node,
    )


def _node(manifest: Manifest, parent_fields: tuple[str, str], *, is_queue: bool = False) -> Node:
    """Returns a node that is not yet connected.

    Args:
        parent_fields: the fields with the name of the parent, in the current and in an older API version.
    """
    spec = dig(manifest.body, "spec")
    parent = next((name for field in parent_fields if isinstance(name := dig(spec, field), str) and name), "")
    quotas = {key: read for key, _, row in _rows(manifest) if (read := _quota(key[1], row)) is not None}
    return Node(manifest.name, is_queue, parent, quotas, manifest=manifest)


def _rows(manifest: Manifest | None) -> Iterator[tuple[Key, Path, Any]]:
    """Yields the flavor and resource, the path and the value of every quota of a ClusterQueue or Cohort."""
    for g, group in items(dig(manifest.body if manifest else None, "spec", "resourceGroups")):
        for f, flavor in items(dig(group, "flavors")):
            for r, row in items(dig(flavor, "resources")):
                name, resource = dig(flavor, "name"), dig(row, "name")
                if isinstance(name, str) and isinstance(resource, str):
                    yield (name, resource), ("spec", "resourceGroups", g, "flavors", f, "resources", r), row


def _quota(resource: str, row: Any) -> Quota | None:
    """Returns a quota; None if the nominal quota is not a quantity."""
    nominal, *limits = (amount(resource, dig(row, key)) for key in ("nominalQuota", "borrowingLimit", "lendingLimit"))
    return None if nominal is None else Quota(nominal, *limits)

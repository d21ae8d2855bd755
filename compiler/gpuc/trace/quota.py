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


_PARENTS = {"ClusterQueue": ("cohortName", "cohort"), "Cohort": ("parentName", "parent")}
"""The fields with the name of the parent, in the current and in older API versions."""


def parent(manifest: Manifest) -> tuple[str, str]:
    """Returns the field of spec with the cohort of a ClusterQueue or the parent of a Cohort, and the name; "" for none.

    Source: kueue v0.19.2 apis/kueue/v1beta1 and v1beta2, clusterqueue_types.go; v0.11.0 v1alpha1/cohort_types.go
    """
    fields = _PARENTS[manifest.kind]
    found = ((field, dig(manifest.body, "spec", field)) for field in fields)
    return next(((field, name) for field, name in found if isinstance(name, str) and name), (fields[0], ""))


def quota_nodes(queues: Iterable[Manifest], cohorts: Iterable[Manifest]) -> list[Node]:
    """Returns the connected nodes of all ClusterQueues and Cohorts, parents before children."""
    return quota.connect(
        [_node(queue) for queue in queues],
        [_node(cohort) for cohort in cohorts],
        Node,
    )


def _node(manifest: Manifest) -> Node:
    """Returns a node that is not yet connected."""
    quotas = {key: read for key, _, row in _rows(manifest) if (read := _quota(key[1], row)) is not None}
    is_queue = manifest.kind == "ClusterQueue"
    return Node(manifest.name, is_queue, parent(manifest)[1], quotas, manifest=manifest)


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

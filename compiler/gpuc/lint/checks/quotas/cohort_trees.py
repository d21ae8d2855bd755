"""Groups of ClusterQueues and Cohorts whose members can share quota."""

from __future__ import annotations

from dataclasses import dataclass, field

from gpuc.kubernetes import quota
from gpuc.kubernetes.kueue import GROUP
from gpuc.kubernetes.quota import Quota
from gpuc.objects.object_set import ObjectSet
from gpuc.trace.quota import Node, quota_nodes


@dataclass(frozen=True, slots=True, eq=False)
class CohortTree:
    """A root cohort with all descendants, or a ClusterQueue without a cohort. Only members can share quota."""

    root: Node
    members: list[Node] = field(default_factory=list)
    """The root and its descendants, the root first."""

    @property
    def queues(self) -> list[Node]:
        """The ClusterQueues among the members."""
        return [member for member in self.members if member.is_queue]

    def __str__(self) -> str:
        return f"{'ClusterQueue' if self.root.is_queue else 'cohort'} {self.root.name}"


def cohort_trees(objects: ObjectSet) -> list[CohortTree]:
    """Returns every cohort tree.

    Cohorts whose parents form a cycle are left out, because Kueue admits no workloads for such cohorts.
    """
    trees: dict[quota.Node, CohortTree] = {}
    for node in quota_nodes(objects.of(GROUP, "ClusterQueue"), objects.of(GROUP, "Cohort")):
        if not node.is_circular:
            *_, root = node.to_root
            trees.setdefault(root, CohortTree(node)).members.append(node)
    return list(trees.values())


def by_flavor(node: Node) -> dict[str, dict[str, Quota]]:
    """Returns the quotas of a ClusterQueue or Cohort by flavor, then by resource."""
    quotas: dict[str, dict[str, Quota]] = {}
    for (flavor, resource), resource_quota in node.quotas.items():
        quotas.setdefault(flavor, {})[resource] = resource_quota
    return quotas

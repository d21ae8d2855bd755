"""ClusterQueues and Cohorts that can share quota."""

from __future__ import annotations

from dataclasses import dataclass, field

from gpuc.kubernetes import quota
from gpuc.kubernetes.kueue import GROUP
from gpuc.kubernetes.quota import Quota
from gpuc.objects.object_set import ObjectSet
from gpuc.trace.quota import Node, quota_nodes


@dataclass(frozen=True, slots=True, eq=False)
class CohortTree:
    """A root cohort with all descendants, or a ClusterQueue without a cohort: its members can share quota."""

    root: Node
    members: list[Node] = field(default_factory=list)
    """Members, the root first."""

    @property
    def queues(self) -> list[Node]:
        """The ClusterQueues among the members."""
        return [member for member in self.members if member.is_queue]

    def __str__(self) -> str:
        return f"{'queue' if self.root.is_queue else 'cohort'} {self.root.name}"


def cohort_trees(tree: ObjectSet) -> list[CohortTree]:
    """Every cohort tree; cohorts in a cycle, which Kueue does not serve, are left out."""
    found: dict[quota.Node, CohortTree] = {}
    for node in quota_nodes(tree.of(GROUP, "ClusterQueue"), tree.of(GROUP, "Cohort")):
        if not node.is_circular:
            *_, root = node.to_root
            found.setdefault(root, CohortTree(node)).members.append(node)
    return list(found.values())


def by_flavor(node: Node) -> dict[str, dict[str, Quota]]:
    """Quotas of a ClusterQueue or Cohort by flavor and resource."""
    found: dict[str, dict[str, Quota]] = {}
    for (flavor, resource), quotas in node.quotas.items():
        found.setdefault(flavor, {})[resource] = quotas
    return found

"""Queues and cohorts that can share quota, and what each has of a flavor."""

from __future__ import annotations

from dataclasses import dataclass, field

from gpuc.kubernetes import quota
from gpuc.kubernetes.kueue import GROUP
from gpuc.kubernetes.quota import Quota
from gpuc.objects.object_set import ObjectSet
from gpuc.trace.quota import Node, quota_nodes


@dataclass(frozen=True, slots=True, eq=False)
class Family:
    """All that can share: a root cohort with everything beneath it, or one queue without a cohort."""

    root: Node
    members: list[Node] = field(default_factory=list)
    """From the root down."""

    @property
    def queues(self) -> list[Node]:
        """Its ClusterQueues."""
        return [member for member in self.members if member.is_queue]

    def __str__(self) -> str:
        return f"{'queue' if self.root.is_queue else 'cohort'} {self.root.name}"


def families(tree: ObjectSet) -> list[Family]:
    """Every root with its members; cohorts in a circle, which Kueue does not serve, belong to none."""
    found: dict[quota.Node, Family] = {}
    for node in quota_nodes(tree.of(GROUP, "ClusterQueue"), tree.of(GROUP, "Cohort")):
        if not node.is_circular:
            *_, root = node.to_root
            found.setdefault(root, Family(node)).members.append(node)
    return list(found.values())


def by_flavor(node: Node) -> dict[str, dict[str, Quota]]:
    """The quotas of a queue or cohort by flavor and resource."""
    found: dict[str, dict[str, Quota]] = {}
    for (flavor, resource), figures in node.quotas.items():
        found.setdefault(flavor, {})[resource] = figures
    return found

"""The quota of a rehearsed cluster, and what is held of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from gpuc.kubernetes import quota
from gpuc.kubernetes.quota import Key, Node
from gpuc.model import Cluster, ClusterQueue, Queue


@dataclass
class Quota:
    """All quota of a cluster, and what is held of it."""

    cluster: Cluster
    usage: dict[tuple[Node, Key], int] = field(default_factory=dict)

    def node(self, queue: ClusterQueue) -> Node:
        """The ClusterQueue in Kueue's forest of quotas."""
        return self.cluster.quota_nodes[queue.name]

    def hold(self, queue: str, flavor: str, amounts: Mapping[str, int]) -> None:
        """Takes quota, as an admitted workload does."""
        for resource, amount in amounts.items():
            quota.add_usage(self.cluster.quota_nodes[queue], (flavor, resource), amount, self.usage)

    def capacity(self, queue: ClusterQueue, flavor: str, resource: str) -> int:
        """The most that a ClusterQueue can have while no other queue has anything."""
        return self.node(queue).capacity((flavor, resource))

    def available(self, queue: ClusterQueue, flavor: str, resource: str) -> int:
        """What it can have now, its own and what it may borrow."""
        return self.node(queue).available((flavor, resource), self.usage)


def owner(cluster: Cluster, queue: ClusterQueue) -> Queue:
    """The queue of the spec that a ClusterQueue is a part of."""
    return next(found for found in cluster.queues if queue in found.cluster_queues)

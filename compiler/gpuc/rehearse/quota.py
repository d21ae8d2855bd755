"""Quota of a rehearsed cluster and its usage."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from gpuc.kubernetes import quota
from gpuc.kubernetes.quota import Key, Node
from gpuc.model import Cluster, ClusterQueue, Queue


@dataclass
class Quota:
    """All quota of a cluster, with the usage by admitted workloads."""

    cluster: Cluster
    usage: dict[tuple[Node, Key], int] = field(default_factory=dict)

    def node(self, queue: ClusterQueue) -> Node:
        """The node of a ClusterQueue in Kueue's quota tree."""
        return self.cluster.quota_nodes[queue.name]

    def hold(self, queue: str, flavor: str, amounts: Mapping[str, int]) -> None:
        """Adds the usage of an admitted workload."""
        for resource, amount in amounts.items():
            quota.add_usage(self.cluster.quota_nodes[queue], (flavor, resource), amount, self.usage)

    def capacity(self, queue: ClusterQueue, flavor: str, resource: str) -> int:
        """The maximum for a ClusterQueue if no quota is used."""
        return self.node(queue).capacity((flavor, resource))

    def available(self, queue: ClusterQueue, flavor: str, resource: str) -> int:
        """The available quota of a ClusterQueue, including quota to borrow."""
        return self.node(queue).available((flavor, resource), self.usage)


def owner(cluster: Cluster, queue: ClusterQueue) -> Queue:
    """The queue of the spec from which a ClusterQueue is generated."""
    return next(candidate for candidate in cluster.queues if queue in candidate.cluster_queues)

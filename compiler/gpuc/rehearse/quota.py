"""The quota of a rehearsed cluster, and the usage of the quota."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from gpuc.kubernetes import quota
from gpuc.kubernetes.quota import Key, Node
from gpuc.model import Cluster, ClusterQueue, Queue


@dataclass
class Quota:
    """The quota of all ClusterQueues, and its usage by admitted workloads."""

    cluster: Cluster
    usage: dict[tuple[Node, Key], int] = field(default_factory=dict)
    """Used amount by node of Kueue's quota tree and by (flavor, resource)."""

    def node(self, queue: ClusterQueue) -> Node:
        """Returns the node of a ClusterQueue in Kueue's quota tree."""
        return self.cluster.quota_nodes[queue.name]

    def add_usage(self, queue: str, flavor: str, amounts: Mapping[str, int]) -> None:
        """Adds the usage of an admitted workload in a ClusterQueue."""
        for resource, amount in amounts.items():
            quota.add_usage(self.cluster.quota_nodes[queue], (flavor, resource), amount, self.usage)

    def capacity(self, queue: ClusterQueue, flavor: str, resource: str) -> int:
        """Returns the maximum usage of a ClusterQueue while no other ClusterQueue uses quota."""
        return self.node(queue).capacity((flavor, resource))

    def available(self, queue: ClusterQueue, flavor: str, resource: str) -> int:
        """Returns the available quota of a ClusterQueue, including the quota that it can borrow."""
        return self.node(queue).available((flavor, resource), self.usage)


def owner(cluster: Cluster, queue: ClusterQueue) -> Queue:
    """Returns the queue of the spec from which a ClusterQueue is generated."""
    return next(candidate for candidate in cluster.queues if queue in candidate.cluster_queues)

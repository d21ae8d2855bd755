"""The quota of a rehearsed cluster, and the usage of the quota."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from gpuc.kubernetes import quota
from gpuc.kubernetes.quota import Key, Node
from gpuc.model import Cluster, ClusterQueue, Queue
from gpuc.pipeline.stages import CompiledSpec
from gpuc.rehearse.expectation import cluster_index


@dataclass
class Quota:
    """The quota of all ClusterQueues, and its usage by admitted workloads."""

    spec: CompiledSpec
    usage: dict[tuple[Node, Key], int] = field(default_factory=dict)
    """Used amount by node of Kueue's quota tree and by (flavor, resource)."""

    def node(self, queue: str) -> Node:
        """Returns the node of a ClusterQueue in Kueue's quota tree."""
        return cluster_index(self.spec).quotas[queue]

    def add_usage(self, queue: str, flavor: str, amounts: Mapping[str, int]) -> None:
        """Adds the usage of an admitted workload in a ClusterQueue."""
        for resource, amount in amounts.items():
            quota.add_usage(self.node(queue), (flavor, resource), amount, self.usage)

    def available(self, queue: ClusterQueue, flavor: str, resource: str) -> int:
        """Returns the available quota of a ClusterQueue, including the quota that it can borrow."""
        return self.node(queue.name).available((flavor, resource), self.usage)


def owner(cluster: Cluster, queue: ClusterQueue) -> Queue:
    """Returns the queue of the spec from which a ClusterQueue is generated."""
    return next(candidate for candidate in cluster.queues if queue in candidate.cluster_queues)

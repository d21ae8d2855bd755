"""Quotas of a cluster, as trees of cohorts and ClusterQueues like in Kueue."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gpuc.kubernetes.amounts import Amounts, total
from gpuc.kubernetes.quota import Key, Node, Quota, connect
from gpuc.model.queue import ClusterQueue, Cohort, Queue


def quota_nodes(queues: Iterable[Queue], cohorts: Iterable[Cohort]) -> dict[str, Node]:
    """Returns the ClusterQueues by name, as nodes of the trees. Each ResourceFlavor has the name of its pool."""
    rows = [(queue, cluster_queue) for queue in queues for cluster_queue in queue.cluster_queues]
    nodes = connect(
        [Node(row.name, True, queue.spec.cohort or "", quotas_of(row)) for queue, row in rows],
        [Node(cohort.name, parent_name=cohort.spec.parent or "") for cohort in cohorts],
        Node,
    )
    return {node.name: node for node in nodes if node.is_queue}


def ceiling(nodes: Mapping[str, Node], queue: Queue) -> Amounts:
    """Returns the most that Kueue can admit in a queue: nominal quota plus the quota that other queues lend."""
    return total(
        {resource: nodes[cluster_queue.name].capacity((pool, resource))}
        for cluster_queue in queue.cluster_queues
        for pool, resource in nodes[cluster_queue.name].quotas
    )


def quotas_of(cluster_queue: ClusterQueue) -> dict[Key, Quota]:
    """Returns the quotas of a ClusterQueue by pool and resource."""
    return {
        (pool_quota.pool.name, name): Quota(
            nominal, *(None if limit is None else limit[name] for limit in (pool_quota.borrow, pool_quota.lend))
        )
        for pool_quota in cluster_queue.pool_quotas
        for name, nominal in pool_quota.nominal.items()
    }

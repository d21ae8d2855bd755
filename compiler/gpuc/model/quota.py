"""Quotas of a cluster as Kueue's trees of cohorts and ClusterQueues."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from gpuc.kubernetes.amounts import Amounts, total
from gpuc.kubernetes.quota import Key, Node, Quota, connect
from gpuc.model.queue import ClusterQueue, Cohort, Queue


def quota_nodes(queues: Iterable[Queue], cohorts: Iterable[Cohort]) -> dict[str, Node]:
    """The quota node of every ClusterQueue by name. ResourceFlavors have the names of pools."""
    nodes = connect(
        [
            Node(part.name, is_queue=True, parent_name=queue.spec.cohort or "", quotas=dict(_quotas(part)))
            for queue in queues
            for part in queue.cluster_queues
        ],
        [Node(cohort.name, parent_name=cohort.spec.parent or "") for cohort in cohorts],
        Node,
    )
    return {node.name: node for node in nodes if node.is_queue}


def ceiling(nodes: Mapping[str, Node], queue: Queue) -> Amounts:
    """The most that Kueue can admit in a queue: nominal quota, and what other queues actually lend."""
    return total(
        {resource: nodes[part.name].capacity((pool, resource))}
        for part in queue.cluster_queues
        for pool, resource in nodes[part.name].quotas
    )


def _quotas(queue: ClusterQueue) -> Iterator[tuple[Key, Quota]]:
    for pool_quota in queue.pool_quotas:
        for name, nominal in pool_quota.nominal.items():
            limits = (None if part is None else part[name] for part in (pool_quota.borrow, pool_quota.lend))
            yield (pool_quota.pool.name, name), Quota(nominal, *limits)

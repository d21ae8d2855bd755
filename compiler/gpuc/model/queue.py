"""The model of queues: the quota of each pool as amounts of resources, and the ClusterQueues of each queue."""

from collections.abc import Iterable, Mapping
from functools import cached_property

from msgspec import Struct

from gpuc.diagnostics.finding import Path
from gpuc.kubernetes.amounts import Amounts, total
from gpuc.kubernetes.quota import Key, Node, Quota, connect
from gpuc.model.pool import Pool
from gpuc.spec.queues import Cohort as CohortSpec
from gpuc.spec.queues import Queue as QueueSpec
from gpuc.spec.queues import Quota as QuotaSpec


class PoolQuota(Struct, frozen=True):
    """The quota of one queue for one pool, as amounts of resources."""

    pool: Pool
    path: Path
    spec: QuotaSpec
    nominal: Amounts
    """The nominal quota."""
    borrow: Amounts | None
    """The borrowing limit. None means no limit. Without a cohort, all amounts are 0."""
    lend: Amounts | None
    """The lending limit. None means no limit. Without a cohort, all amounts are 0."""


class ClusterQueue(Struct, frozen=True, dict=True):
    """One of the two ClusterQueues of a queue: for pools with GPUs, or for pools without GPUs."""

    name: str
    pool_quotas: tuple[PoolQuota, ...]

    @cached_property
    def pools(self) -> tuple[Pool, ...]:
        return tuple(pool_quota.pool for pool_quota in self.pool_quotas)

    @cached_property
    def covered_resources(self) -> tuple[str, ...]:
        """The names of the resources of all pools in the ClusterQueue. cpu and memory come first."""
        return tuple(dict.fromkeys(name for pool_quota in self.pool_quotas for name in pool_quota.nominal))


class Queue(Struct, frozen=True, dict=True):
    """A queue of the spec. It has one ClusterQueue for pools with GPUs and one ClusterQueue for pools without GPUs."""

    name: str
    path: Path
    spec: QueueSpec
    tenant_names: tuple[str, ...]
    cluster_queues: tuple[ClusterQueue, ...]
    """The ClusterQueue for GPU pools has the name of the queue. The name for general pools has the suffix -cpu."""

    @cached_property
    def pool_quotas(self) -> tuple[PoolQuota, ...]:
        return tuple(pool_quota for queue in self.cluster_queues for pool_quota in queue.pool_quotas)

    @cached_property
    def pools(self) -> tuple[Pool, ...]:
        return tuple(pool_quota.pool for pool_quota in self.pool_quotas)


class Cohort(Struct, frozen=True):
    """A cohort: a group of queues that lend quota to each other."""

    name: str
    path: Path
    spec: CohortSpec
    queues: tuple[Queue, ...]
    """All queues below the root of the cohort, because cohorts with the same root lend quota to each other."""


def quota_nodes(queues: Iterable[Queue], cohorts: Iterable[Cohort]) -> dict[str, Node]:
    """Returns each ClusterQueue by name, as a node of its tree of cohorts. Its quotas name pools as ResourceFlavors."""
    rows = [(queue, cluster_queue) for queue in queues for cluster_queue in queue.cluster_queues]
    nodes = connect(
        [Node(row.name, True, queue.spec.cohort or "", quotas_of(row)) for queue, row in rows],
        [Node(cohort.name, parent_name=cohort.spec.parent or "") for cohort in cohorts],
        Node,
    )
    return {node.name: node for node in nodes if node.is_queue}


def ceiling(nodes: Mapping[str, Node], queue: Queue) -> Amounts:
    """Returns the most resources that Kueue can admit in a queue: its nominal quota plus what other queues lend."""
    return total(
        {resource: nodes[cluster_queue.name].capacity((pool, resource))}
        for cluster_queue in queue.cluster_queues
        for pool, resource in nodes[cluster_queue.name].quotas
    )


def quotas_of(cluster_queue: ClusterQueue) -> dict[Key, Quota]:
    """Returns the nominal quota, borrowing limit and lending limit of a ClusterQueue, by pool and resource."""
    return {
        (pool_quota.pool.name, name): Quota(
            nominal, *(None if limit is None else limit[name] for limit in (pool_quota.borrow, pool_quota.lend))
        )
        for pool_quota in cluster_queue.pool_quotas
        for name, nominal in pool_quota.nominal.items()
    }

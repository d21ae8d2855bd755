"""Resolved queues: quotas of pools as amounts of resources, and the ClusterQueues of a queue."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from gpuc.diagnostics.finding import Path
from gpuc.kubernetes.amounts import Amounts
from gpuc.model.pool import Pool
from gpuc.spec.queues import Cohort as CohortSpec
from gpuc.spec.queues import Queue as QueueSpec
from gpuc.spec.queues import Quota as QuotaSpec


@dataclass(frozen=True)
class PoolQuota:
    """The quota of a queue for one pool, as amounts of resources."""

    pool: Pool
    path: Path
    spec: QuotaSpec
    nominal: Amounts
    """The nominal quota."""
    borrow: Amounts | None
    """The borrowing limit. None means no limit. Without a cohort, all amounts are 0."""
    lend: Amounts | None
    """The lending limit. None means no limit. Without a cohort, all amounts are 0."""


@dataclass(frozen=True)
class ClusterQueue:
    """A ClusterQueue for the GPU pools, or for the general pools, of a queue."""

    name: str
    pool_quotas: tuple[PoolQuota, ...]

    @property
    def pools(self) -> tuple[Pool, ...]:
        return tuple(pool_quota.pool for pool_quota in self.pool_quotas)

    @cached_property
    def covered_resources(self) -> tuple[str, ...]:
        """The resources of all pools, cpu and memory first."""
        return tuple(dict.fromkeys(name for pool_quota in self.pool_quotas for name in pool_quota.nominal))


@dataclass(frozen=True)
class Queue:
    """A queue of the spec. It has a ClusterQueue for its GPU pools and a ClusterQueue for its general pools."""

    name: str
    path: Path
    spec: QueueSpec
    tenant_names: tuple[str, ...]
    cluster_queues: tuple[ClusterQueue, ...]
    """The ClusterQueue for GPU pools has the name of the queue. The name for general pools has the suffix -cpu."""

    @property
    def pool_quotas(self) -> tuple[PoolQuota, ...]:
        return tuple(pool_quota for queue in self.cluster_queues for pool_quota in queue.pool_quotas)

    @property
    def pools(self) -> tuple[Pool, ...]:
        return tuple(pool_quota.pool for pool_quota in self.pool_quotas)


@dataclass(frozen=True)
class Cohort:
    """A cohort with the queues that lend to each other."""

    name: str
    path: Path
    spec: CohortSpec
    queues: tuple[Queue, ...]
    """All queues below the root of the cohort, because cohorts with the same root lend quota to each other."""

"""Resolved tenants: namespaces, queues, pools and maximum usage."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from gpuc.diagnostics.finding import Path
from gpuc.kubernetes.amounts import CPU, EPHEMERAL_STORAGE, GIB, MEMORY, MIB, Amounts, total
from gpuc.model.pool import Pool
from gpuc.model.queue import Queue
from gpuc.spec.platform import NcclProfile
from gpuc.spec.queues import PoolAmount
from gpuc.spec.tenants import Namespace as NamespaceSpec
from gpuc.spec.tenants import Tenant as TenantSpec

DEFAULT_REQUEST: Amounts = {CPU: 100, MEMORY: 256 * MIB, EPHEMERAL_STORAGE: GIB}
"""Default requests for containers without requests, because the ResourceQuota rejects pods without requests."""


@dataclass(frozen=True)
class Profile:
    """An NCCL profile."""

    name: str
    path: Path
    spec: NcclProfile

    @property
    def config_map(self) -> str:
        """The name of the ConfigMap in each namespace that uses the profile."""
        return f"nccl-{self.name}"


@dataclass(frozen=True)
class NamespaceQuota:
    """The quota of a namespace on a pool that ResourceQuotas count."""

    pool: Pool
    path: Path
    spec: PoolAmount
    amounts: Amounts
    """All resources of the pool."""


@dataclass(frozen=True)
class Namespace:
    """A namespace of a tenant."""

    name: str
    path: Path
    spec: NamespaceSpec
    nccl: Profile | None
    queues: tuple[Queue, ...]
    """The queues in which the namespace may submit workloads, in the order of the spec."""
    quotas: tuple[NamespaceQuota, ...]
    """The quotas on pools that ResourceQuotas count, in the order of the spec."""
    ceiling: Amounts
    """The maximum that Kueue can admit in the queues of the namespace: nominal quota and quota that is lent."""

    @property
    def hard(self) -> Amounts:
        """The limits of the ResourceQuota: the ceiling of the queues and the quotas of the namespace."""
        return total([self.ceiling, *(quota.amounts for quota in self.quotas)])

    @cached_property
    def local_queues(self) -> tuple[str, ...]:
        """Names of the LocalQueues. A LocalQueue has the name of its ClusterQueue."""
        return tuple(cluster_queue.name for queue in self.queues for cluster_queue in queue.cluster_queues)


@dataclass(frozen=True)
class Tenant:
    """A team with its own namespaces, quota and bill."""

    name: str
    path: Path
    spec: TenantSpec
    namespaces: tuple[Namespace, ...]
    queues: tuple[Queue, ...]
    """The queues of the tenant, in the order of the spec."""

    @property
    def isolates_network(self) -> bool:
        return self.spec.isolation in ("network", "dedicated")

    @cached_property
    def pools(self) -> tuple[Pool, ...]:
        """The pools of the tenant's queues and of its namespaces' quotas, without duplicates."""
        queued = (pool for queue in self.queues for pool in queue.pools)
        own = (quota.pool for namespace in self.namespaces for quota in namespace.quotas)
        return tuple({pool.name: pool for pool in (*queued, *own)}.values())

"""The model of a cluster, the input of rules and emitters: a spec with resolved names and computed numbers."""

from gpuc.model.cluster import Cluster, once_for_each_cluster
from gpuc.model.gpu_pool import GpuPool
from gpuc.model.pool import Pool
from gpuc.model.queue import ClusterQueue, Cohort, PoolQuota, Queue
from gpuc.model.resolve import resolve
from gpuc.model.tenant import Namespace, Profile, Tenant

__all__ = [
    "Cluster",
    "ClusterQueue",
    "Cohort",
    "GpuPool",
    "Namespace",
    "Pool",
    "PoolQuota",
    "Profile",
    "Queue",
    "Tenant",
    "once_for_each_cluster",
    "resolve",
]

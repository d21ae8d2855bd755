"""The cluster as rules and emitters see it: names resolved, defaults applied, numbers computed once."""

from compiler.model.cluster import Cluster
from compiler.model.pool import Pool, Taint
from compiler.model.queue import ClusterQueue, Cohort, Queue, Share
from compiler.model.resolve import resolve
from compiler.model.tenant import Namespace, Profile, Tenant

__all__ = [
    "Cluster",
    "ClusterQueue",
    "Cohort",
    "Namespace",
    "Pool",
    "Profile",
    "Queue",
    "Share",
    "Taint",
    "Tenant",
    "resolve",
]

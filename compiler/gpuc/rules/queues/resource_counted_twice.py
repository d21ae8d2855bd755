from __future__ import annotations

from collections.abc import Iterator

from gpuc.diagnostics.finding import Related
from gpuc.model import Cluster, Namespace, Pool
from gpuc.model.tenant import NamespaceQuota
from gpuc.model.units import unit_name
from gpuc.rules import Findings, rule
from gpuc.rules.queues._units import quota_path


@rule("KUE116", source="Kubernetes documentation, resource quotas: a ResourceQuota counts resources by their names")
def resource_counted_twice(cluster: Cluster) -> Findings:
    """A namespace can get a GPU resource from several node pools, and ResourceQuotas count one of the node pools.

    A ResourceQuota counts a resource by its name, for all node pools together. Pods outside of Kueue could use the sum
    of both quotas on one node pool, and take GPUs of other namespaces.
    """
    for _, namespace in cluster.namespaces:
        earlier: list[NamespaceQuota] = []
        for quota in namespace.quotas:
            pool = quota.pool
            if pool.counted == "quota" and not pool.spec.leaving:
                yield from _twice(namespace, quota, earlier)
                earlier.append(quota)


def _twice(namespace: Namespace, quota: NamespaceQuota, earlier: list[NamespaceQuota]) -> Findings:
    """Yields a finding for the first pool that has a resource of the quota too.

    Args:
        earlier: the earlier quotas of the namespace.
    """
    pool = quota.pool
    queued = list(_queued(namespace))
    for resource in pool.gpu_resource_names:
        path = quota_path(quota.path, quota.spec, resource)
        actual = f"namespace {namespace.name} has quota for {unit_name(pool, resource)} of node pool {pool.name}"
        for first in earlier:
            other = first.pool
            if resource in other.gpu_resource_names:
                message = f"{actual} and of node pool {other.name}, both with the name {resource}"
                fix = f"move the quota to another namespace, or set counted of node pool {pool.name} to kueue"
                where = quota_path(first.path, first.spec, resource)
                yield path, message, fix, [Related(f"quota for node pool {other.name}", where)]
                return
        for queue, other in queued:
            if resource in other.gpu_resource_names:
                message = f"{actual}, and queue {queue} for node pool {other.name}, both with the name {resource}"
                fix = (
                    f"set queues of namespace {namespace.name} to [], or set counted of node pool {pool.name} to kueue"
                )
                where = ("spec", "queues", queue, "quota", other.name)
                yield path, message, fix, [Related(f"quota of queue {queue}", where, on_key=True)]
                return


def _queued(namespace: Namespace) -> Iterator[tuple[str, Pool]]:
    """Yields the name of the queue and the pool for every quota that Kueue counts in the namespace."""
    for queue in namespace.queues:
        for pool in queue.pools if not queue.spec.leaving else ():
            if pool.counted == "kueue" and not pool.spec.leaving:
                yield queue.name, pool

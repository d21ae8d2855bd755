"""Rules about node pools: Kueue counts the use of some pools, and ResourceQuotas count the use of other pools."""

from collections.abc import Iterator

from gpuc.diagnostics.finding import Related, Severity
from gpuc.model import Cluster, Namespace, Pool, Queue
from gpuc.model.tenant import NamespaceQuota
from gpuc.model.units import unit_name
from gpuc.parts.workload_kinds import pod_frameworks
from gpuc.rules import Findings, Found, queue_rule, rule
from gpuc.rules.queues.places import amount_path, counted_by, namespace_quotas, quota_path


@queue_rule("KUE114")
def borrowing_outside_of_kueue(queue: Queue) -> Findings:
    """A queue borrows or lends quota of a node pool whose use ResourceQuotas count, not Kueue."""
    for pool_quota in queue.pool_quotas if not queue.spec.leaving else ():
        pool, quota = pool_quota.pool, pool_quota.spec
        if pool.counted != "quota" or pool.spec.leaving:
            continue
        for key in ("borrow", "lend"):
            if key in quota.model_fields_set and getattr(quota, key) != 0:
                actual = f"queue {queue.name} {key}s quota of node pool {pool.name}"
                message = f"{actual}, but ResourceQuotas count this pool"
                fix = f"remove {key} for node pool {pool.name}, or set counted of node pool {pool.name} to kueue"
                yield Found((*pool_quota.path, key), message, fix, counted_by(pool))


@rule("KUE131", Severity.WARNING)
def hold_without_queue(cluster: Cluster) -> Findings:
    """A node pool sets `hold`, but no queue has quota for the node pool, so `hold` has no effect."""
    for pool in cluster.pools:
        if pool.spec.hold and not cluster.queues_of(pool):
            message = f"hold of node pool {pool.name} has no effect, because no queue has quota of the node pool"
            yield Found((*pool.path, "hold"), message, f"remove hold from node pool {pool.name}")


@rule("KUE115")
def namespace_quota_for_queued_pool(cluster: Cluster) -> Findings:
    """A namespace has quota for a node pool whose use Kueue counts."""
    for quota in namespace_quotas(cluster):
        pool = quota.pool
        if pool.counted == "kueue":
            message = f"namespace {quota.owner} has quota for node pool {pool.name}, but Kueue counts this pool"
            fix = f"move the quota to a queue of tenant {quota.tenants[0]}"
            fix += f", or set counted of node pool {pool.name} to quota"
            yield Found(quota.place, message, fix, counted_by(pool))


@queue_rule("KUE113")
def queue_with_pool_counted_by_quota(queue: Queue) -> Findings:
    """A queue has quota for a node pool whose use ResourceQuotas count."""
    for pool_quota in queue.pool_quotas if not queue.spec.leaving else ():
        pool = pool_quota.pool
        if pool.counted == "quota" and not pool.spec.leaving:
            path = amount_path(pool_quota.path, pool_quota.spec)
            message = f"queue {queue.name} has quota for node pool {pool.name}, but ResourceQuotas count this pool"
            tenants = " or ".join(queue.tenant_names)
            fix = f"move the quota to quota of a namespace of tenant {tenants}"
            yield Found(path, message, f"{fix}, or set counted of node pool {pool.name} to kueue", counted_by(pool))


@rule("KUE116")
def resource_counted_twice(cluster: Cluster) -> Findings:
    """A ResourceQuota for the GPUs of one node pool also counts GPUs that the namespace gets from another pool."""
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
                yield Found(path, message, fix, [Related(f"quota for node pool {other.name}", where)])
                return
        for queue, other in queued:
            if resource in other.gpu_resource_names:
                message = f"{actual}, and queue {queue} for node pool {other.name}, both with the name {resource}"
                fix = (
                    f"set queues of namespace {namespace.name} to [], or set counted of node pool {pool.name} to kueue"
                )
                where = ("spec", "queues", queue, "quota", other.name)
                yield Found(path, message, fix, [Related(f"quota of queue {queue}", where, on_key=True)])
                return


def _queued(namespace: Namespace) -> Iterator[tuple[str, Pool]]:
    """Yields the name of the queue and the pool for every quota that Kueue counts in the namespace."""
    for queue in namespace.queues:
        for pool in queue.pools if not queue.spec.leaving else ():
            if pool.counted == "kueue" and not pool.spec.leaving:
                yield queue.name, pool


@rule("KUE118", Severity.WARNING)
def serving_without_framework(cluster: Cluster) -> Findings:
    """Kueue counts the use of an inference pool, but Kueue manages no kind of workload that serves requests."""
    frameworks = cluster.frameworks
    for pool in cluster.gpu_pools if cluster.queues else ():
        if pool.spec.purpose == "inference" and pool.counted == "kueue" and not pod_frameworks() & set(frameworks):
            names = ", ".join(sorted(pod_frameworks()))
            message = f"Kueue counts inference pool {pool.name}, but kueue.frameworks has none of {names}"
            fix = f"add deployment to kueue.frameworks, or set counted of node pool {pool.name} to quota"
            yield Found((*pool.path, "counted"), message, fix)

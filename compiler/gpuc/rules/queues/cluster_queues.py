"""Rules about the ClusterQueues of queues: their names, and the resources that they cover."""

from collections.abc import Collection, Iterator

from gpuc.cluster.queue import Member, from_model
from gpuc.diagnostics.finding import Related, Severity
from gpuc.model import Cluster, Queue
from gpuc.model.names import GPU
from gpuc.model.units import unit_name
from gpuc.rules import Findings, Found, queue_rule, rule
from gpuc.rules.queues.places import counted_keys, quota_path


@rule("KUE107")
def colliding_queue_names(cluster: Cluster) -> Findings:
    """Another queue has the name of the ClusterQueue that gpuc creates for the general node pools of a queue."""
    names = {queue.name for queue in cluster.queues}
    for queue in cluster.queues:
        for cluster_queue in queue.cluster_queues:
            if cluster_queue.name != queue.name and cluster_queue.name in names:
                general = ", ".join(pool.name for pool in cluster_queue.pools)
                path = (*cluster_queue.pool_quotas[0].path, "nodes")
                actual = f"queue {cluster_queue.name} and the ClusterQueue of queue {queue.name} for {general}"
                other = ("spec", "queues", cluster_queue.name)
                related = [Related(f"queue {cluster_queue.name}", other, on_key=True)]
                yield Found(path, f"{actual} have the same name", f"rename queue {cluster_queue.name}", related)


@rule("QTA011", Severity.WARNING)
def resource_without_quota(cluster: Cluster) -> Findings:
    """A ClusterQueue covers a resource, but has no quota for the resource and cannot borrow quota."""
    for member in from_model(cluster).by_name.values():
        is_leaving = any(pool_quota.pool.spec.leaving for pool_quota in member.pool_quotas.values())
        if member.queue and not member.queue.spec.leaving and not is_leaving:
            yield from uncovered(member)


def uncovered(queue: Member, closed: Collection[str] = ()) -> Iterator[Found]:
    """Yields a finding for each resource for which a ClusterQueue has no quota and cannot borrow quota.

    Args:
        closed: flavors that intentionally have no quota, because their pools will be removed.
    """
    done = {key[1] for key in queue.quotas if key[0] in closed or queue.capacity(key) > 0}
    for flavor, resource in counted_keys(queue):
        if resource in done:
            continue
        done.add(resource)
        what, path = resource, queue.covered_path(resource)
        if pool_quota := queue.pool_quotas.get(flavor):
            what = f"{unit_name(pool_quota.pool, resource)} of node pool {flavor}"
            path = (*pool_quota.path, "slices" if pool_quota.spec.slices else "gpus")
        if path:  # otherwise the resource is not covered, which is another mistake
            message = f"{queue.words} has no quota for {what} and cannot borrow any"
            yield Found(path, message, manifest=queue.manifest)


@queue_rule("KUE012", Severity.WARNING)
def slices_advertised_as_gpus(queue: Queue) -> Findings:
    """A queue has quota for MIG slices and whole GPUs, and both have the resource name nvidia.com/gpu."""
    gpu_pools = [pool for pool in queue.pools if GPU in pool.gpu_resource_names]
    whole_gpu_pools = [
        f"node pool {pool.name}" for pool in gpu_pools if pool.sharing and pool.sharing.strategy != "single"
    ]
    for pool_quota in queue.pool_quotas:
        sharing = pool_quota.pool.sharing
        if whole_gpu_pools and sharing and sharing.strategy == "single":
            path = quota_path(pool_quota.path, pool_quota.spec, GPU)
            slices, gpus = f"slices of node pool {pool_quota.pool.name}", f"GPUs of {', '.join(whole_gpu_pools)}"
            message = f"queue {queue.name} has quota for {slices} and for {gpus}; "
            message += "both have the resource name nvidia.com/gpu"
            fix = f"set sharing.mig.strategy of node pool {pool_quota.pool.name} to mixed, or use two queues"
            yield Found(path, message, fix)

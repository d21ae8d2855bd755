from __future__ import annotations

from gpuc.diagnostics.finding import Path
from gpuc.kubernetes.amounts import Amounts
from gpuc.model import Cluster, PoolQuota, Queue
from gpuc.model.names import GPU, mig_resource
from gpuc.rules import Findings, rule
from gpuc.rules.queues._units import counted, pieces, unit
from gpuc.spec.queues import Quota


@rule("KUE008", source="kubernetes-sigs/kueue v0.19.2 docs/concepts/cohort.md")
def unreachable_borrowing(cluster: Cluster) -> Findings:
    """A queue may borrow more than the other queues lend.

    Workloads of the queue wait for quota that no queue lends, while nodes are idle.
    """
    for queue in cluster.queues:
        cohort = cluster.cohort_of(queue)
        for pool_quota in queue.pool_quotas:
            quota = queue.spec.quota[pool_quota.pool.name]
            if quota.borrow == 0:
                continue
            if cohort is None:
                message = f"queue {queue.name} borrows quota of node pool {pool_quota.pool.name}, but has no cohort"
                yield (*pool_quota.path, "borrow"), message, f"set cohort of queue {queue.name}, or write 0"
            else:
                yield from _beyond_lent(queue, pool_quota, quota, cluster.lent(queue, pool_quota))


def _beyond_lent(queue: Queue, pool_quota: PoolQuota, quota: Quota, lent: Amounts) -> Findings:
    pool, path = pool_quota.pool, (*pool_quota.path, "borrow")
    if pool_quota.borrow is None:
        if not any(lent.get(name) for name in counted(pool)):
            others = f"no other queue of cohort {queue.spec.cohort}"
            message = f"queue {queue.name} borrows all, but {others} lends quota of node pool {pool.name}"
            yield path, message, "write 0"
        return
    in_nodes = quota.nodes is not None
    for resource in counted(pool):
        borrowed, most = pool_quota.borrow[resource], lent.get(resource, 0)
        if borrowed > most:
            name = unit(pool, resource, in_nodes=in_nodes)
            borrowed = pieces(pool, resource, borrowed, in_nodes=in_nodes)
            most = pieces(pool, resource, most, in_nodes=in_nodes)
            actual = f"queue {queue.name} borrows {borrowed} {name} of node pool {pool.name}"
            message = f"{actual}, but the other queues lend at most {most}"
            yield (*path, *_profile(quota, resource)), message, f"write {most}"
            if not isinstance(quota.borrow, dict):
                return  # the other resources follow from the same number


def _profile(quota: Quota, resource: str) -> Path:
    """Returns the MIG profile of the resource as a path step, or an empty path if borrow is not a map by profile."""
    profiles = quota.borrow if isinstance(quota.borrow, dict) else {}
    return next(((profile,) for profile in profiles if resource in (GPU, mig_resource(profile))), ())

from __future__ import annotations

from collections.abc import Iterator

from gpuc.diagnostics.finding import Path, Related
from gpuc.kubernetes.amounts import Amounts
from gpuc.model import Cluster, PoolQuota, Queue
from gpuc.model.names import GPU, mig_resource
from gpuc.model.pool import Pool
from gpuc.model.queue import Cohort
from gpuc.model.units import quota_unit
from gpuc.rules import Findings, rule
from gpuc.rules.queues._units import counted_resources
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
                fix = f"remove borrow of queue {queue.name} for node pool {pool_quota.pool.name}"
                message = f"queue {queue.name} borrows quota of node pool {pool_quota.pool.name}, but has no cohort"
                yield (*pool_quota.path, "borrow"), message, fix
            else:
                for path, message, fix in _beyond_lent(queue, pool_quota, quota, cluster.lent(queue, pool_quota)):
                    yield path, message, fix, _lenders(cohort, queue, pool_quota.pool)


def _lenders(cohort: Cohort, queue: Queue, pool: Pool) -> list[Related]:
    """Returns the places of what the other queues of the cohort lend of a pool, or of their quota without `lend`."""
    related = []
    for other in cohort.queues:
        quota = other.spec.quota.get(pool.name)
        if quota is not None and other is not queue:
            path = (*other.path, "quota", pool.name)
            lends = "lend" in quota.model_fields_set
            what = f"queue {other.name} lends {quota.lend}" if lends and not isinstance(quota.lend, dict) else ""
            where = (*path, "lend") if lends else path
            related.append(Related(what or f"quota of queue {other.name}", where, on_key=not lends))
    return related


def _beyond_lent(queue: Queue, pool_quota: PoolQuota, quota: Quota, lent: Amounts) -> Iterator[tuple[Path, str, str]]:
    """Yields the path, message and fix for each borrowing limit beyond the amounts that the other queues lend."""
    pool, path = pool_quota.pool, (*pool_quota.path, "borrow")
    if pool_quota.borrow is None:
        if not any(lent.get(name) for name in counted_resources(pool)):
            others = f"no other queue of cohort {queue.spec.cohort}"
            message = f"queue {queue.name} borrows all, but {others} lends quota of node pool {pool.name}"
            yield path, message, f"set borrow of queue {queue.name} for node pool {pool.name} to 0"
        return
    in_nodes = quota.nodes is not None
    for resource in counted_resources(pool):
        limit, available = pool_quota.borrow[resource], lent.get(resource, 0)
        if limit > available:
            unit = quota_unit(pool, resource, in_nodes=in_nodes)
            limit, available = unit.count(limit), unit.count(available)
            profile = _profile(quota, resource)
            key = ".".join(("borrow", *(str(step) for step in profile)))
            message = (
                f"queue {queue.name} borrows {unit.text(limit)} of node pool {pool.name}, "
                f"but the other queues lend at most {available}"
            )
            fix = f"set {key} of queue {queue.name} for node pool {pool.name} to {available}"
            yield (*path, *profile), message, fix
            if not isinstance(quota.borrow, dict):
                return  # the same number sets the borrowing limit of all resources


def _profile(quota: Quota, resource: str) -> Path:
    """Returns the path below borrow: the MIG profile of the resource, or nothing if borrow is not a map by profile."""
    profiles = quota.borrow if isinstance(quota.borrow, dict) else {}
    return next(((profile,) for profile in profiles if resource in (GPU, mig_resource(profile))), ())

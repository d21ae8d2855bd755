from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, impact
from gpuc.plan.quota_changes import is_less, loses, quota_changes


@impact("IMP205", Level.RESTRICTS, source="kueue v0.19.2 pkg/cache/scheduler/resource_node.go, localQuota, available")
def lending_shrinks(change: Change) -> Impacts:
    """A queue lends less of its idle quota on a node pool.

    Workloads of other queues that run with lent quota continue. The lender waits for them, or preempts them if it may
    reclaim its quota.
    """
    changes = quota_changes(change)
    for quota in changes:
        if quota.has_limits and is_less(quota.after.lend, quota.before.lend):
            instead = quota.unit.instead(quota.before.lend, quota.after.lend)
            others = loses(changes, quota.flavor, quota.pair.name)
            details = (*others, "workloads that run with lent quota continue until they end or are preempted")
            yield quota.raised(f"lends {instead} on {quota.place} to its cohort", "lendingLimit", details)

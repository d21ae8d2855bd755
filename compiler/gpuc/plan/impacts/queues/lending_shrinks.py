from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Raised, impact
from gpuc.plan.quota_changes import flavor_text, is_less, loses, queue_name, quota_changes


@impact("IMP205", Level.RESTRICTS, source="kueue v0.19.2 pkg/cache/scheduler/resource_node.go, localQuota, available")
def lending_shrinks(change: Change) -> Impacts:
    """A queue lends less of its idle quota on a node pool.

    Workloads of other queues that run with lent quota continue. The lender waits for them, or preempts them if it may
    reclaim its quota.
    """
    changes = quota_changes(change)
    for one in changes:
        if one.has_limits and is_less(one.after.lend, one.before.lend):
            instead = one.unit.instead(one.before.lend, one.after.lend)
            message = f"lends {instead} on {flavor_text(change, one.flavor)} to its cohort"
            others = loses(change, changes, one.flavor, one.pair.name)
            details = (*others, "workloads that run with lent quota continue until they end or are preempted")
            yield Raised(f"queue {queue_name(one.pair)}", message, one.pair.after, (*one.path, "lendingLimit"), details)

from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Raised, impact
from gpuc.plan.quota_changes import flavor_text, is_less, queue_name, quota_changes


@impact("IMP204", Level.NONE, source="kueue v0.19.2 pkg/cache/scheduler/resource_node.go, available")
def borrowing_grows(change: Change) -> Impacts:
    """A queue may borrow more quota on a node pool.

    Kueue tries the workloads that wait in the queue again. The queues that lend the quota can wait for it until the
    workloads end, or preempt the workloads if they may reclaim their quota.
    """
    for one in quota_changes(change):
        if one.has_limits and is_less(one.before.borrow, one.after.borrow):
            instead = one.unit.instead(one.before.borrow, one.after.borrow)
            message = f"may borrow {instead} on {flavor_text(change, one.flavor)}"
            yield Raised(f"queue {queue_name(one.pair)}", message, one.pair.after, (*one.path, "borrowingLimit"))

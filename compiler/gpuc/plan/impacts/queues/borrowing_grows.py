from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, impact
from gpuc.plan.quota_changes import is_less, quota_changes


@impact("IMP204", Level.NONE, source="kueue v0.19.2 pkg/cache/scheduler/resource_node.go, available")
def borrowing_grows(change: Change) -> Impacts:
    """A queue may borrow more quota on a node pool.

    Kueue tries the workloads that wait in the queue again. The queues that lend the quota can wait for it until the
    workloads end, or preempt the workloads if they may reclaim their quota.
    """
    for quota in quota_changes(change):
        if quota.has_limits and is_less(quota.before.borrow, quota.after.borrow):
            instead = quota.unit.instead(quota.before.borrow, quota.after.borrow)
            yield quota.raised(f"may borrow {instead} on {quota.place}", "borrowingLimit")

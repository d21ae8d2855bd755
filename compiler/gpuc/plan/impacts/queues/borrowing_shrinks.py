from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, impact
from gpuc.plan.quota_changes import is_less, loses, quota_changes


@impact("IMP203", Level.RESTRICTS, source="kueue v0.19.2 pkg/cache/scheduler/resource_node.go, available")
def borrowing_shrinks(change: Change) -> Impacts:
    """A queue may borrow less quota on a node pool.

    Workloads that run with borrowed quota continue: Kueue evicts no workload because of a smaller limit. Kueue admits
    the next workload when the queue uses less than its nominal quota and the new limit together.
    """
    for quota in quota_changes(change):
        if quota.has_limits and is_less(quota.after.borrow, quota.before.borrow):
            instead = quota.unit.instead(quota.before.borrow, quota.after.borrow)
            details = ("workloads that run with borrowed quota continue", *loses([quota]))
            yield quota.raised(f"may borrow {instead} on {quota.place}", "borrowingLimit", details)

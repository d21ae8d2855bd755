from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, impact
from gpuc.plan.quota_changes import QuotaChange, is_less, quota_changes


@impact("IMP206", Level.RESTRICTS, source="kueue v0.19.2 pkg/cache/scheduler/resource_node.go, localQuota, available")
def lending_grows(change: Change) -> Impacts:
    """A queue lends more of its idle quota on a node pool.

    A queue that needs lent quota waits until the workloads of the borrowers end, or preempts them if the queue may
    reclaim its quota.
    """
    for quota in quota_changes(change):
        if quota.has_limits and is_less(quota.before.lend, quota.after.lend):
            instead = quota.unit.instead(quota.before.lend, quota.after.lend)
            yield quota.raised(f"lends {instead} on {quota.place} to its cohort; {_return(quota)}", "lendingLimit")


def _return(quota: QuotaChange) -> str:
    """Returns how the queue gets lent quota back."""
    policy = quota.pair.values("spec", "preemption", "reclaimWithinCohort")[1]
    if policy in (None, "Never"):
        return "the queue waits for lent quota until the workloads of the borrowers end"
    which = "with lower priority " if policy == "LowerPriority" else ""
    return f"the queue preempts workloads of the borrowers {which}when it needs the quota"

from gpuc.objects.object_set import dig
from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Raised, impact
from gpuc.plan.quota_changes import QuotaChange, flavor_text, is_less, queue_name, quota_changes


@impact("IMP206", Level.RESTRICTS, source="kueue v0.19.2 pkg/cache/scheduler/resource_node.go, localQuota, available")
def lending_grows(change: Change) -> Impacts:
    """A queue lends more of its idle quota on a node pool.

    A queue that needs lent quota waits until the workloads of the borrowers end, or preempts them if the queue may
    reclaim its quota.
    """
    for one in quota_changes(change):
        if one.has_limits and is_less(one.before.lend, one.after.lend):
            instead = one.unit.instead(one.before.lend, one.after.lend)
            message = f"lends {instead} on {flavor_text(change, one.flavor)} to its cohort; {_return(one)}"
            yield Raised(f"queue {queue_name(one.pair)}", message, one.pair.after, (*one.path, "lendingLimit"))


def _return(one: QuotaChange) -> str:
    """Returns how the queue gets lent quota back."""
    policy = dig(one.pair.after.body if one.pair.after else None, "spec", "preemption", "reclaimWithinCohort")
    if policy in (None, "Never"):
        return "the queue waits for lent quota until the workloads of the borrowers end"
    which = "with lower priority " if policy == "LowerPriority" else ""
    return f"the queue preempts workloads of the borrowers {which}when it needs the quota"

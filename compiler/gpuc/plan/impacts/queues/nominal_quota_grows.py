from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Raised, impact
from gpuc.plan.quota_changes import flavor_text, queue_name, quota_changes


@impact("IMP202", Level.NONE, source="kueue v0.19.2 pkg/cache/scheduler/clusterqueue.go, updateQuotasAndResourceGroups")
def nominal_quota_grows(change: Change) -> Impacts:
    """The nominal quota of a queue on a node pool grows.

    Kueue tries the workloads that wait in the queue again. Running workloads are not disturbed.
    """
    for one in quota_changes(change):
        if one.after.nominal > one.before.nominal:
            span = one.unit.span(one.before.nominal, one.after.nominal)
            message = f"nominal quota on {flavor_text(change, one.flavor)} grows {span}"
            yield Raised(f"queue {queue_name(one.pair)}", message, one.pair.after, (*one.path, "nominalQuota"))

from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, impact
from gpuc.plan.quota_changes import quota_changes


@impact("IMP202", Level.NONE, source="kueue v0.19.2 pkg/cache/scheduler/clusterqueue.go, updateQuotasAndResourceGroups")
def nominal_quota_grows(change: Change) -> Impacts:
    """The nominal quota of a queue on a node pool grows.

    Kueue tries the workloads that wait in the queue again. Running workloads are not disturbed.
    """
    for quota in quota_changes(change):
        if quota.after.nominal > quota.before.nominal:
            span = quota.unit.span(quota.before.nominal, quota.after.nominal)
            yield quota.raised(f"nominal quota on {quota.place} grows {span}", "nominalQuota")

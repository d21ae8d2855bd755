from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, impact
from gpuc.plan.kueue_configuration import configuration_changes


@impact("IMP232", Level.DISRUPTS, source="kueue v0.19.2 pkg/scheduler/preemption/preemption.go, GetTargets")
def fair_sharing_changes(change: Change) -> Impacts:
    """Kueue starts or stops to divide idle quota by weight.

    The order in which Kueue admits the workloads of a cohort changes, and the choice of the workloads that Kueue
    preempts. With fair sharing, Kueue preempts borrowed quota of queues with a large share, also without a priority.
    """
    for found in configuration_changes(change):
        before, after = map(bool, found.values("fairSharing"))
        message = "idle quota is not divided by weight any more: the oldest workload gets it"
        if after:
            message = "idle quota is divided by weight: queues with a large share of borrowed quota can lose it"
        details = ("preemption for reclaimed quota follows the new rules as soon as Kueue has restarted",)
        if before != after:
            yield found.raised(message, "fairSharing", details=details)

from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Raised, impact
from gpuc.plan.kueue_configuration import VALUES, configuration_change


@impact("IMP232", Level.DISRUPTS, source="kueue v0.19.2 pkg/scheduler/preemption/preemption.go, GetTargets")
def fair_sharing_changes(change: Change) -> Impacts:
    """Kueue starts or stops to divide idle quota by weight.

    The order in which Kueue admits the workloads of a cohort changes, and the choice of the workloads that Kueue
    preempts. With fair sharing, Kueue preempts borrowed quota of queues with a large share, also without a priority.
    """
    found = configuration_change(change)
    before, after = found.values("fairSharing") if found else (None, None)
    if found and bool(before) != bool(after):
        if after:
            message = "idle quota is divided by weight: queues with a large share of borrowed quota can lose it"
        else:
            message = "idle quota is not divided by weight any more: the oldest workload gets it"
        details = ("preemption for reclaimed quota follows the new rules as soon as Kueue has restarted",)
        yield Raised("component kueue", message, found.pair.after, (*VALUES, "fairSharing"), details)

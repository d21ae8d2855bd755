from gpuc.plan.change import Change
from gpuc.plan.fair_sharing import weight_changes
from gpuc.plan.impact import Impacts, Level, Raised, impact


@impact("IMP231", Level.RESTRICTS, source="kueue v0.19.2 pkg/cache/scheduler/fair_sharing.go, dominantResourceShare")
def fair_share_grows(change: Change) -> Impacts:
    """The weight of a queue or cohort in fair sharing grows.

    The queue gets more of the idle quota of its cohort, and the other queues get less. Workloads that they run with
    borrowed quota can be preempted, if the queue may reclaim quota.
    """
    for weight in weight_changes(change):
        if weight.after > weight.before:
            message = (
                f"weight in fair sharing grows from {weight.before} to {weight.after}: other queues get less idle quota"
            )
            yield Raised(weight.subject, message, weight.pair.after, ("spec", "fairSharing", "weight"))

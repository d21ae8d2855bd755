from gpuc.plan.change import Change
from gpuc.plan.fair_sharing import weight_changes
from gpuc.plan.impact import Impacts, Level, Raised, impact


@impact("IMP230", Level.RESTRICTS, source="kueue v0.19.2 pkg/cache/scheduler/fair_sharing.go, dominantResourceShare")
def fair_share_shrinks(change: Change) -> Impacts:
    """The weight of a queue or cohort in fair sharing falls.

    The queue gets less of the idle quota of its cohort. Queues with a smaller share can preempt workloads that the
    queue runs with borrowed quota.
    """
    for weight in weight_changes(change):
        if weight.after < weight.before:
            message = f"weight in fair sharing falls from {weight.before} to {weight.after}: it gets less idle quota"
            details = (
                "other queues that may reclaim quota can preempt workloads that run with borrowed quota and are above "
                "the new share",
            )
            yield Raised(weight.subject, message, weight.pair.after, ("spec", "fairSharing", "weight"), details)

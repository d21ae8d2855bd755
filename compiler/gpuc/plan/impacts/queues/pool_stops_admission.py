from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Prediction, Raised, impact
from gpuc.plan.quota_changes import QuotaChange, flavor_text, pool_cause, queue_name, quota_changes


@impact(
    "IMP207", Level.DISRUPTS, source="kueue v0.19.2 pkg/scheduler/flavorassigner/flavorassigner.go, fitsResourceQuota"
)
def pool_stops_admission(change: Change) -> Impacts:
    """Queues admit no new workloads to a node pool, because their quota on the pool is 0.

    The nodes of a pool with `hold` or `leaving` get no new workloads. Running workloads continue. Kueue admits a
    workload that is evicted to another pool of the queue, or the workload waits.
    """
    stopped: dict[str, dict[str, QuotaChange]] = {}
    for one in quota_changes(change):
        if one.stops:
            stopped.setdefault(one.flavor, {}).setdefault(queue_name(one.pair), one)
    for flavor, queues in stopped.items():
        names = ", ".join(sorted(queues))
        message = f"queues {names} admit no new" if len(queues) > 1 else f"queue {names} admits no new"
        first = next(iter(queues.values()))
        details = (
            "workloads that run on the pool continue, and Kueue does not preempt them",
            "other workloads get another pool of their queue, or wait if the queue has no other pool for them",
        )
        predicts = tuple(Prediction(f"workloads of queue {name}", "waiting") for name in sorted(queues))
        cause = pool_cause(change, flavor, "hold", "leaving")
        manifest, path = (None, cause) if cause else (first.pair.after, (*first.path, "nominalQuota"))
        yield Raised(flavor_text(change, flavor), f"{message} workloads to it", manifest, path, details, predicts)

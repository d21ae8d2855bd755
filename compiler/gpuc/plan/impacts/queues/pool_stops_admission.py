from gpuc.diagnostics.words import kind_of
from gpuc.plan.change import Change, grouped
from gpuc.plan.impact import Impacts, Level, Prediction, impact
from gpuc.plan.quota_changes import pool_cause, quota_changes


@impact(
    "IMP207", Level.DISRUPTS, source="kueue v0.19.2 pkg/scheduler/flavorassigner/flavorassigner.go, fitsResourceQuota"
)
def pool_stops_admission(change: Change) -> Impacts:
    """Queues admit no new workloads to a node pool, because their quota on the pool is 0.

    The nodes of a pool with `hold` or `leaving` get no new workloads. Running workloads continue. Kueue admits a
    workload that is evicted to another pool of the queue, or the workload waits.
    """
    stops = [quota for quota in quota_changes(change) if quota.stops]
    for flavor, quotas in grouped(stops, lambda quota: quota.flavor).items():
        names = sorted({quota.queue for quota in quotas})
        verb = "admits" if len(names) == 1 else "admit"
        details = (
            "workloads that run on the pool continue, and Kueue does not preempt them",
            "other workloads get another pool of their queue, or wait if the queue has no other pool for them",
        )
        predicts = tuple(Prediction(f"workloads of queue {name}", "waiting") for name in names)
        raised = quotas[0].raised(
            f"{kind_of(names, 'queue')} {verb} no new workloads to it", "nominalQuota", details, predicts
        )
        if cause := pool_cause(change, flavor, "hold", "leaving"):
            raised = raised._replace(manifest=None, path=cause)
        yield raised._replace(subject=quotas[0].place)

from gpuc.diagnostics.finding import Path
from gpuc.plan.change import Change, Pair
from gpuc.plan.impact import Impacts, Level, Prediction, Raised, impact
from gpuc.plan.quota_changes import cohort_of, flavor_text, flavors, queues, quota_text


@impact(
    "IMP209",
    Level.RESTRICTS,
    source="kueue v0.19.2 pkg/cache/scheduler/resource_node.go, addUsage; no caller of pkg/workload/evict",
)
def pool_leaves_queue(change: Change) -> Impacts:
    """A queue loses its quota on a node pool, and keeps other pools.

    Kueue evicts no workload that runs on the pool. A workload that Kueue evicts later, and a workload that waits, get
    another pool of the queue, or wait forever if they need the pool. Until the running workloads end, they use quota
    that other queues of the cohort lend.
    """
    for name, pairs in queues(change).items():
        for pair in pairs if not all(pair.is_removed for pair in pairs) else ():
            kept = flavors(change.after, pair.name)
            for flavor, lost in flavors(change.before, pair.name).items():
                if flavor not in kept:
                    yield _raised(change, name, pair, flavor, lost.path)


def _raised(change: Change, queue: str, pair: Pair, flavor: str, path: Path) -> Raised:
    quota = quota_text(change.before, pair.name, flavor)
    names = {pair.name: name for name, pairs in queues(change).items() for pair in pairs}
    partners = dict.fromkeys(
        names[node.name]
        for node in cohort_of(change.after, pair.name)
        if node.name != pair.name
        and any(key[0] == flavor and quota.nominal and quota.lend != 0 for key, quota in node.quotas.items())
    )
    details = (
        "workloads that run on the pool continue; Kueue does not evict them",
        *(f"until they end, they use quota of queue {name}" for name in partners),
        "workloads that need the pool, for example because of a node selector, wait until they are changed",
    )
    predicts = tuple(Prediction(f"workloads of queue {name}", "waiting") for name in (queue, *partners))
    message = f"loses its quota on {flavor_text(change, flavor)}: {quota}"
    return Raised(f"queue {queue}", message, pair.before, path, details, predicts)

from gpuc.kubernetes.kueue import GROUP
from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Prediction, Raised, impact
from gpuc.plan.quota_changes import flavor_text, flavors, queue_name, quota_text, tree


@impact(
    "IMP209",
    Level.RESTRICTS,
    source="kueue v0.19.2 pkg/scheduler/flavorassigner/flavorassigner.go; no caller of pkg/workload/evict",
)
def pool_leaves_queue(change: Change) -> Impacts:
    """A queue loses its quota on a node pool, and keeps other pools.

    Kueue evicts no workload that runs on the pool. A workload that Kueue evicts later, and a workload that waits, get
    another pool of the queue, or wait forever if they need the pool.
    """
    remaining = {queue_name(pair) for pair in change.pairs(GROUP, "ClusterQueue") if not pair.is_removed}
    nodes = tree(change.before)
    for pair in change.pairs(GROUP, "ClusterQueue"):
        if queue_name(pair) not in remaining:
            continue
        kept = flavors(pair, after=True)
        for flavor, path in flavors(pair, after=False).items():
            if flavor not in kept:
                quota = quota_text(change.before, nodes[pair.name], flavor)
                message = f"loses its quota on {flavor_text(change, flavor)}: {quota}"
                details = (
                    "workloads that run on the pool continue; Kueue does not evict them",
                    "workloads that need the pool, for example because of a node selector, wait until they are changed",
                )
                predicts = (Prediction(f"workloads of queue {queue_name(pair)}", "waiting"),)
                yield Raised(f"queue {queue_name(pair)}", message, pair.before, path, details, predicts)

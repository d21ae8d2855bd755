from gpuc.kubernetes.kueue import GROUP
from gpuc.plan.change import Change, Pair
from gpuc.plan.impact import Impacts, Level, Prediction, Raised, impact
from gpuc.plan.quota_changes import flavor_text, flavors, queue_name, quota_text, tree


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
                partners = _partners(change, pair, flavor)
                details = (
                    "workloads that run on the pool continue; Kueue does not evict them",
                    *(f"until they end, they use quota of queue {name}" for name in partners),
                    "workloads that need the pool, for example because of a node selector, wait until they are changed",
                )
                names = (queue_name(pair), *partners)
                predicts = tuple(Prediction(f"workloads of queue {name}", "waiting") for name in names)
                yield Raised(f"queue {queue_name(pair)}", message, pair.before, path, details, predicts)


def _partners(change: Change, pair: Pair, flavor: str) -> list[str]:
    """Returns the queues of the same cohort that lend quota on a flavor after the change."""
    nodes = tree(change.after)
    node = nodes.get(pair.name)
    if node is None:
        return []
    *_, root = node.to_root
    found = [
        other.name
        for other in nodes.values()
        if other is not node
        and list(other.to_root)[-1] is root
        and any(key[0] == flavor and quota.nominal and quota.lend != 0 for key, quota in other.quotas.items())
    ]
    named = {one.name: queue_name(one) for one in change.pairs(GROUP, "ClusterQueue")}
    return list(dict.fromkeys(named[name] for name in found))

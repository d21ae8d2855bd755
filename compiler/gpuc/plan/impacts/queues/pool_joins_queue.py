from gpuc.kubernetes.kueue import GROUP
from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Raised, impact
from gpuc.plan.quota_changes import flavor_text, flavors, queue_name, quota_text, tree


@impact("IMP210", Level.NONE, source="kueue v0.19.2 pkg/cache/scheduler/clusterqueue.go, updateQuotasAndResourceGroups")
def pool_joins_queue(change: Change) -> Impacts:
    """A queue that exists gets quota on another node pool.

    Kueue tries the workloads that wait in the queue again. Running workloads stay on their nodes.
    """
    existing = {queue_name(pair) for pair in change.pairs(GROUP, "ClusterQueue") if not pair.is_added}
    nodes = tree(change.after)
    for pair in change.pairs(GROUP, "ClusterQueue"):
        if queue_name(pair) not in existing:
            continue
        known = flavors(pair, after=False)
        for flavor, path in flavors(pair, after=True).items():
            if flavor not in known:
                quota = quota_text(change.after, nodes[pair.name], flavor)
                message = f"gets quota on {flavor_text(change, flavor)}: {quota}"
                yield Raised(f"queue {queue_name(pair)}", message, pair.after, path)

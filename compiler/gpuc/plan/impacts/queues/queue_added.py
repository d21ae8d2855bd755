from gpuc.kubernetes.kueue import GROUP
from gpuc.plan.change import Change, Pair
from gpuc.plan.impact import Impacts, Level, Raised, impact
from gpuc.plan.quota_changes import flavor_text, flavors, queue_name, quota_text, tree


@impact("IMP216", Level.NONE, source="kueue v0.19.2 pkg/cache/scheduler/cache.go, AddClusterQueue")
def queue_added(change: Change) -> Impacts:
    """A queue is new.

    Its tenants can submit workloads to its LocalQueues. The other queues of its cohort can borrow its idle quota.
    """
    existing = {queue_name(pair) for pair in change.pairs(GROUP, "ClusterQueue") if not pair.is_added}
    added: dict[str, list[Pair]] = {}
    for pair in change.pairs(GROUP, "ClusterQueue"):
        if queue_name(pair) not in existing and not change.is_new:
            added.setdefault(queue_name(pair), []).append(pair)
    nodes = tree(change.after)
    for name, pairs in added.items():
        quotas = [
            f"{quota_text(change.after, nodes[pair.name], flavor)} on {flavor_text(change, flavor)}"
            for pair in pairs
            for flavor in flavors(pair, after=True)
        ]
        yield Raised(f"queue {name}", f"is new, with quota: {'; '.join(quotas)}", pairs[0].after)

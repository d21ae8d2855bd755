from gpuc.kubernetes.kueue import GROUP
from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Raised, impact
from gpuc.plan.quota_changes import queue_name


@impact("IMP228", Level.RESTRICTS, source="kueue v0.19.2 apis/kueue/v1beta2/clusterqueue_types.go, QueueingStrategy")
def strict_order(change: Change) -> Impacts:
    """A queue admits its workloads in strict order.

    The first workload that waits for quota blocks all later workloads of the queue, also those that would fit.
    """
    seen = set()
    for pair in change.pairs(GROUP, "ClusterQueue"):
        before, after = pair.values("spec", "queueingStrategy")
        name = queue_name(pair)
        if pair.is_changed and after == "StrictFIFO" != before and name not in seen:
            seen.add(name)
            message = "a workload that waits for quota blocks all later workloads, also those that would fit"
            yield Raised(f"queue {name}", message, pair.after, ("spec", "queueingStrategy"))

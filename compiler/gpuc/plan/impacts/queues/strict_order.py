from gpuc.kubernetes.kueue import GROUP
from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Raised, impact
from gpuc.plan.quota_changes import queue_name


@impact("IMP228", Level.RESTRICTS, source="kueue v0.19.2 apis/kueue/v1beta2/clusterqueue_types.go, QueueingStrategy")
def strict_order(change: Change) -> Impacts:
    """A queue admits its workloads in strict order.

    The first workload that waits for quota blocks all later workloads of the queue, also those that would fit.
    """
    for pair in change.pairs(GROUP, "ClusterQueue"):
        before, after = pair.values("spec", "queueingStrategy")
        if pair.is_changed and after == "StrictFIFO" != before:
            message = "a workload that waits for quota blocks all later workloads, also those that would fit"
            yield Raised(f"queue {queue_name(pair)}", message, pair.after, ("spec", "queueingStrategy"))

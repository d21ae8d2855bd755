from gpuc.kubernetes.kueue import GROUP
from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Raised, impact
from gpuc.plan.quota_changes import queue_name


@impact("IMP229", Level.NONE, source="kueue v0.19.2 apis/kueue/v1beta2/clusterqueue_types.go, QueueingStrategy")
def best_effort_order(change: Change) -> Impacts:
    """A queue admits later workloads while an earlier one waits for quota.

    A large workload can wait long, because small workloads use the quota that becomes free.
    """
    for pair in change.pairs(GROUP, "ClusterQueue"):
        before, after = pair.values("spec", "queueingStrategy")
        if pair.is_changed and before == "StrictFIFO" != after:
            message = "later workloads are admitted while an earlier one waits; large workloads can wait longer"
            yield Raised(f"queue {queue_name(pair)}", message, pair.after, ("spec", "queueingStrategy"))

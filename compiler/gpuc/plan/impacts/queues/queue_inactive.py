from gpuc.cluster.queue import from_objects, inactive_reason
from gpuc.kubernetes.kueue import GROUP
from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Prediction, Raised, impact
from gpuc.plan.quota_changes import queue_name


@impact("IMP220", Level.DISRUPTS, source="kueue v0.19.2 pkg/cache/scheduler/clusterqueue.go, updateQueueStatus")
def queue_inactive(change: Change) -> Impacts:
    """A queue becomes inactive, because an object that the queue names does not exist.

    Kueue admits no workload in an inactive ClusterQueue. Running workloads continue.
    """
    for pair in change.pairs(GROUP, "ClusterQueue"):
        before, after = (from_objects(state.objects).by_name.get(pair.name) for state in (change.before, change.after))
        reason = inactive_reason(change.after.objects, after) if after else None
        if reason and not (before and inactive_reason(change.before.objects, before)):
            message = f"is inactive and admits no workloads: {reason[0]}"
            name = queue_name(pair)
            predicts = (Prediction(f"queue {name}", "inactive"), Prediction(f"workloads of queue {name}", "waiting"))
            yield Raised(f"queue {name}", message, pair.after, reason[1], (), predicts)

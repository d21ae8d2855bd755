from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, impact
from gpuc.plan.queue_ends import removed_queues


@impact("IMP242", Level.NONE, source="kueue v0.19.2 pkg/controller/core/clusterqueue_controller.go, Reconcile")
def left_queue_removed(change: Change) -> Impacts:
    """A queue is removed that has left in an earlier change.

    The queue admits no workloads already. Running workloads continue, and Kueue keeps a ClusterQueue that is deleted
    until the last of them has ended.
    """
    yield from removed_queues(change, after_leaving=True)

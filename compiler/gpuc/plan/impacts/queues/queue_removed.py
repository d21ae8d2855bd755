from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, impact
from gpuc.plan.queue_ends import removed_queues


@impact(
    "IMP215",
    Level.DISRUPTS,
    source="kueue v0.19.2 pkg/controller/core/workload_controller.go, reconcileOnLocalQueueActiveState; "
    "clusterqueue_controller.go, Reconcile",
)
def queue_removed(change: Change) -> Impacts:
    """A queue is removed that has not left in an earlier change.

    Running workloads continue. Workloads that wait in the queue are never admitted. Kueue keeps a ClusterQueue that is
    deleted until its last running workload has ended.
    """
    yield from removed_queues(change, after_leaving=False)

from gpuc.kubernetes.kueue import GROUP
from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Prediction, Raised, impact


@impact("IMP223", Level.DISRUPTS, source="kueue v0.19.2 apis/kueue/v1beta2/localqueue_types.go, LocalQueueSpec")
def local_queue_moves(change: Change) -> Impacts:
    """A LocalQueue gets another ClusterQueue, which the API server refuses.

    The field clusterQueue is immutable. The sync of the Application fails, and the LocalQueue keeps its ClusterQueue.
    """
    for pair in change.pairs(GROUP, "LocalQueue"):
        before, after = pair.values("spec", "clusterQueue")
        if before and after and before != after:
            place = f"{pair.manifest.namespace}/{pair.name}"
            message = f"LocalQueue {pair.name} cannot move from ClusterQueue {before} to {after}: immutable field"
            details = (
                "to move it, delete the LocalQueue and let Argo CD create it again; workloads that run continue, and "
                "workloads that wait are queued again",
            )
            predicts = (Prediction(f"object LocalQueue {place}", "refused"),)
            path = ("spec", "clusterQueue")
            yield Raised(f"namespace {pair.manifest.namespace}", message, pair.after, path, details, predicts)

from gpuc.kubernetes.kueue import GROUP
from gpuc.plan.change import Change, Pair, grouped
from gpuc.plan.impact import Impacts, Level, Prediction, Raised, impact
from gpuc.plan.queue_ends import outcome_without_queue
from gpuc.plan.queue_usage import users_text, uses
from gpuc.plan.tenant_changes import owner_and_queue, tenant_of, where_text


@impact(
    "IMP221",
    Level.DISRUPTS,
    source="kueue v0.19.2 pkg/controller/core/workload_controller.go, reconcileOnLocalQueueActiveState",
)
def local_queue_removed(change: Change) -> Impacts:
    """A namespace loses the LocalQueues of a queue, and the queue and the namespace stay.

    Running workloads continue, and keep their quota until they end. Workloads that wait in the LocalQueue are not
    admitted. A workload that Kueue evicts is not admitted again.
    """
    removed = (pair for pair in change.pairs(GROUP, "LocalQueue") if pair.is_removed and _stays(change, pair))
    found = uses(change)
    for (owner, queue), pairs in grouped(removed, lambda pair: owner_and_queue(change, pair)).items():
        namespaces = sorted({pair.manifest.namespace for pair in pairs})
        where = where_text(owner, namespaces)
        places = {(pair.manifest.namespace, pair.name) for pair in pairs}
        users = [use.manifest for use in found if (use.manifest.namespace, use.local_queue) in places]
        details = (
            "workloads that run continue until they end; workloads that wait, and workloads that Kueue evicts, stay "
            "suspended until they get another queue",
            *users_text("in the queue", users),
        )
        outcomes = [(name, outcome_without_queue(change, name)) for name in namespaces]
        predicts = tuple(Prediction(f"workloads of namespace {name}", outcome) for name, outcome in outcomes)
        message = f"loses access to queue {queue}{where}: no new workload is admitted"
        yield Raised(owner, message, pairs[0].before, (), details, predicts)


def _stays(change: Change, pair: Pair) -> bool:
    """Returns whether the ClusterQueue and the Namespace of a removed LocalQueue stay, in the same tenant."""
    namespace = change.pair("", "Namespace", pair.manifest.namespace)
    cluster_queue = change.pair(GROUP, "ClusterQueue", str(pair.values("spec", "clusterQueue")[0]))
    if namespace and (namespace.is_removed or tenant_of(namespace, 0) != tenant_of(namespace, 1)):
        return False
    return not (cluster_queue and cluster_queue.is_removed)

from gpuc.kubernetes.kueue import GROUP
from gpuc.objects.object_set import dig
from gpuc.plan.change import Change, Pair
from gpuc.plan.impact import Impacts, Level, Prediction, Raised, impact
from gpuc.plan.queue_policy import outcome_without_queue
from gpuc.plan.queue_usage import named, uses
from gpuc.plan.quota_changes import queue_name
from gpuc.plan.tenant_changes import owner_of, tenant_of


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
    groups: dict[tuple[str, str], list[Pair]] = {}
    for pair in change.pairs(GROUP, "LocalQueue"):
        if pair.is_removed and _stays(change, pair):
            groups.setdefault((owner_of(change, pair.manifest.namespace), queue_name(pair)), []).append(pair)
    found = uses(change)
    for (owner, queue), pairs in groups.items():
        namespaces = sorted({pair.manifest.namespace for pair in pairs})
        where = f" in {', '.join(namespaces)}" if owner.startswith("tenant") else ""
        places = {(pair.manifest.namespace, pair.name) for pair in pairs}
        users = [use.manifest for use in found if (use.manifest.namespace, use.local_queue) in places]
        details = (
            "workloads that run continue until they end; workloads that wait, and workloads that Kueue evicts, stay "
            "suspended until they get another queue",
            *((f"objects of --workloads in the queue: {named(users)}",) if users else ()),
        )
        outcomes = [(name, outcome_without_queue(change, name)) for name in namespaces]
        predicts = tuple(Prediction(f"workloads of namespace {name}", outcome) for name, outcome in outcomes)
        message = f"loses access to queue {queue}{where}: no new workload is admitted"
        yield Raised(owner, message, pairs[0].before, (), details, predicts)


def _stays(change: Change, pair: Pair) -> bool:
    """Returns whether the ClusterQueue and the Namespace of a removed LocalQueue stay, in the same tenant."""
    queue = dig(pair.manifest.body, "spec", "clusterQueue")
    namespace = change.pair("", "Namespace", pair.manifest.namespace)
    cluster_queue = change.pair(GROUP, "ClusterQueue", str(queue))
    if namespace and (namespace.is_removed or tenant_of(namespace, 0) != tenant_of(namespace, 1)):
        return False
    return not (cluster_queue and cluster_queue.is_removed)

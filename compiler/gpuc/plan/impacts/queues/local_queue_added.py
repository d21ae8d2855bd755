from gpuc.kubernetes.kueue import GROUP
from gpuc.plan.change import Change, Pair, grouped
from gpuc.plan.impact import Impacts, Level, Raised, impact
from gpuc.plan.tenant_changes import owner_and_queue, where_text


@impact("IMP222", Level.NONE, source="kueue v0.19.2 pkg/cache/queue/manager.go, AddLocalQueue")
def local_queue_added(change: Change) -> Impacts:
    """A namespace that exists gets LocalQueues of a queue that exists.

    The namespace shares the quota of the queue with the other namespaces of the queue.
    """
    added = (pair for pair in change.pairs(GROUP, "LocalQueue") if _is_added(change, pair))
    for (owner, name), pairs in grouped(added, lambda pair: owner_and_queue(change, pair)).items():
        where = where_text(owner, sorted({pair.manifest.namespace for pair in pairs}))
        yield Raised(owner, f"can submit workloads to queue {name}{where}", pairs[0].after)


def _is_added(change: Change, pair: Pair) -> bool:
    """Returns whether a LocalQueue is new, and its namespace and its queue are not."""
    namespace = change.pair("", "Namespace", pair.manifest.namespace)
    queue = change.pair(GROUP, "ClusterQueue", str(pair.values("spec", "clusterQueue")[1]))
    is_new = (namespace and namespace.is_added) or (queue and queue.is_added) or change.is_new
    return pair.is_added and not is_new

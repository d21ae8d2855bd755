from gpuc.kubernetes.kueue import GROUP
from gpuc.plan.change import Change, Pair
from gpuc.plan.impact import Impacts, Level, Raised, impact
from gpuc.plan.quota_changes import queue_name
from gpuc.plan.tenant_changes import owner_of


@impact("IMP222", Level.NONE, source="kueue v0.19.2 pkg/cache/queue/manager.go, AddLocalQueue")
def local_queue_added(change: Change) -> Impacts:
    """A namespace that exists gets LocalQueues of a queue that exists.

    The namespace shares the quota of the queue with the other namespaces of the queue.
    """
    groups: dict[tuple[str, str], list[Pair]] = {}
    for pair in change.pairs(GROUP, "LocalQueue"):
        if not pair.is_added or change.is_new:
            continue
        namespace = change.pair("", "Namespace", pair.manifest.namespace)
        queue = change.pair(GROUP, "ClusterQueue", str(pair.values("spec", "clusterQueue")[1]))
        if not (namespace and namespace.is_added) and not (queue and queue.is_added):
            owner = owner_of(change, pair.manifest.namespace)
            groups.setdefault((owner, queue_name(pair)), []).append(pair)
    for (owner, name), pairs in groups.items():
        namespaces = ", ".join(sorted({pair.manifest.namespace for pair in pairs}))
        where = f" in {namespaces}" if owner.startswith("tenant") else ""
        yield Raised(owner, f"can submit workloads to queue {name}{where}", pairs[0].after)

from gpuc.kubernetes.kueue import GROUP
from gpuc.plan.change import Change, Pair
from gpuc.plan.impact import Impacts, Level, Prediction, Raised, impact
from gpuc.plan.quota_changes import queue_name
from gpuc.plan.tenant_changes import tenant_of, tenants_text


@impact(
    "IMP244",
    Level.RESTRICTS,
    source="kueue v0.19.2 pkg/cache/queue/cluster_queue.go, baseCompareFunc; "
    "pkg/scheduler/preemption/preemption.go, findCandidates",
)
def queue_is_shared(change: Change) -> Impacts:
    """Another tenant gets a queue that a tenant has.

    All workloads of a queue wait in one order, by priority and age, and use the same quota.
    """
    for name, pairs in _queues(change).items():
        before, after = _tenants(change, pairs, 0), _tenants(change, pairs, 1)
        joining, staying = ([one for one in after if (one in before) == is_old] for is_old in (False, True))
        if not joining or not staying:
            continue
        olds, news = tenants_text(staying), tenants_text(joining)
        message = f"{news} and {olds} share the quota: workloads of {olds} wait while those of {news} use it"
        preempting = [pair.name for pair in pairs if _preempts(pair)]
        evicted = f"workloads of {olds} in {', '.join(preempting)} can be evicted for workloads with a higher priority"
        path = ("spec", "namespaceSelector")
        predicts = (Prediction(f"workloads of queue {name}", "perhaps waiting"),)
        yield Raised(f"queue {name}", message, pairs[0].after, path, (evicted,) if preempting else (), predicts)


def _preempts(pair: Pair) -> bool:
    """Returns whether workloads of the queue are evicted for other workloads of the queue after the change."""
    policy = pair.values("spec", "preemption", "withinClusterQueue")[1]
    return policy not in (None, "Never")


def _queues(change: Change) -> dict[str, list[Pair]]:
    """Returns the ClusterQueues that exist before and after the change, by the name of the queue in the spec."""
    found: dict[str, list[Pair]] = {}
    for pair in change.pairs(GROUP, "ClusterQueue"):
        if pair.before and pair.after:
            found.setdefault(queue_name(pair), []).append(pair)
    return found


def _tenants(change: Change, queues: list[Pair], state: int) -> list[str]:
    """Returns the tenants with a LocalQueue of the queue before (0) or after (1) the change, sorted."""
    names = {pair.name for pair in queues}
    found = set()
    for local in change.pairs(GROUP, "LocalQueue"):
        namespace = change.pair("", "Namespace", local.manifest.namespace)
        if namespace and local.values("spec", "clusterQueue")[state] in names:
            found.add(tenant_of(namespace, state))
    return sorted(found - {""})

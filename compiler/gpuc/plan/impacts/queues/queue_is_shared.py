from gpuc.diagnostics.words import kind_of
from gpuc.kubernetes.kueue import GROUP
from gpuc.plan.change import Change, Pair, grouped
from gpuc.plan.impact import Impacts, Level, Prediction, Raised, impact
from gpuc.plan.quota_changes import queue_name
from gpuc.plan.tenant_changes import tenant_of


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
    for name, pairs in grouped(change.kept(GROUP, "ClusterQueue"), queue_name).items():
        before, after = _tenants(change, pairs, 0), _tenants(change, pairs, 1)
        joining, staying = ([tenant for tenant in after if (tenant in before) == is_old] for is_old in (False, True))
        if not joining or not staying:
            continue
        olds, news = kind_of(staying, "tenant"), kind_of(joining, "tenant")
        message = f"{news} and {olds} share the quota: workloads of {olds} wait while those of {news} use it"
        policies = {pair.name: pair.values("spec", "preemption", "withinClusterQueue")[1] for pair in pairs}
        preempting = [queue for queue, policy in policies.items() if policy not in (None, "Never")]
        evicted = f"workloads of {olds} in {', '.join(preempting)} can be evicted for workloads with a higher priority"
        path = ("spec", "namespaceSelector")
        predicts = (Prediction(f"workloads of queue {name}", "perhaps waiting"),)
        yield Raised(f"queue {name}", message, pairs[0].after, path, (evicted,) if preempting else (), predicts)


def _tenants(change: Change, queues: list[Pair], state: int) -> list[str]:
    """Returns the tenants with a LocalQueue of the queue before (0) or after (1) the change, sorted."""
    names = {pair.name for pair in queues}
    found = set()
    for local in change.pairs(GROUP, "LocalQueue"):
        namespace = change.pair("", "Namespace", local.manifest.namespace)
        if namespace and local.values("spec", "clusterQueue")[state] in names:
            found.add(tenant_of(namespace, state))
    return sorted(found - {""})

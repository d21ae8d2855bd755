from gpuc.diagnostics.finding import Path
from gpuc.model import Cluster
from gpuc.model.names import POOL_LABEL, TENANT_KEY
from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Raised, impact

_NOUNS = {"pools": "node pool", "queues": "queue", "tenants": "tenant", "namespaces": "namespace"}
_WITHOUT_QUEUE = "members can still create pods in namespaces without queues"
_FIRST = {
    "pools": "its queues have no quota for it, and it starts no new nodes; running work continues",
    "queues": "it admits no new workloads; running work continues",
    "tenants": f"its queues admit no new workloads; {_WITHOUT_QUEUE}; running work continues",
    "namespaces": f"its queues admit no new workloads; {_WITHOUT_QUEUE}; running work continues",
}
_EMPTY = {
    "pools": f"kubectl get nodes --selector {POOL_LABEL}={{}}",
    "queues": "kubectl get workloads --all-namespaces",
    "tenants": f"kubectl get namespaces --selector {TENANT_KEY}={{}}, and the pods in them",
    "namespaces": "kubectl get pods --namespace {}",
}


@impact("IMP509", Level.DISRUPTS, source="gpuc DECISIONS.md, Delivery: the removal takes two commits")
def two_steps(change: Change) -> Impacts:
    """A node pool, queue, tenant or namespace is removed or renamed in one commit, although it needs two.

    The first commit sets `leaving: true`: no new nodes, and no new workloads in queues; running workloads continue. The
    second commit removes the element when it is empty. A rename is a removal and an addition. A queue also has no new
    workloads if all namespaces with the queue are leaving.
    """
    before, after = change.before.cluster, change.after.cluster
    if before is None or after is None:
        return
    for section, noun in _NOUNS.items():
        old, new = (_elements(cluster, section) for cluster in (before, after))
        added = [name for name in new if name not in old]
        removed = [name for name in old if name not in new]
        for name in removed:
            path, is_leaving = old[name]
            if is_leaving or (section == "namespaces" and path[2] not in _elements(after, "tenants")):
                continue
            renamed = f" (renamed to {added[0]}?)" if len(added) == len(removed) == 1 else ""
            message = f"is removed while it is in use{renamed}; merge two changes instead"
            details = (
                f"first change: keep {noun} {name} with leaving: true; {_FIRST[section]}",
                f"second change: remove {noun} {name}, when it is empty: {_EMPTY[section].format(name)}",
            )
            yield Raised(f"{noun} {name}", message, path=path, details=details)


def _elements(cluster: Cluster, section: str) -> dict[str, tuple[Path, bool]]:
    """Returns the elements of a section: the path, and whether they are leaving, by name."""
    if section == "namespaces":
        return {
            namespace.name: (
                ("spec", "tenants", tenant.name, "namespaces", namespace.name),
                tenant.spec.leaving or namespace.spec.leaving,
            )
            for tenant in cluster.tenants
            for namespace in tenant.namespaces
        }
    held = _held_queues(cluster) if section == "queues" else frozenset()
    return {
        element.name: (("spec", section, element.name), element.spec.leaving or element.name in held)
        for element in getattr(cluster, section)
    }


def _held_queues(cluster: Cluster) -> frozenset[str]:
    """Returns the queues of which all namespaces are leaving, so that all their LocalQueues admit no workloads."""
    used: dict[str, bool] = {}
    for tenant, namespace in cluster.namespaces:
        for queue in namespace.queues:
            used[queue.name] = used.get(queue.name, True) and (tenant.spec.leaving or namespace.spec.leaving)
    return frozenset(name for name, is_held in used.items() if is_held)

"""Impacts on tenants and their namespaces."""

from gpuc.diagnostics.words import kind_of
from gpuc.kubernetes.kueue import GROUP
from gpuc.objects.object_set import grouped
from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Raised, impact, workloads_of
from gpuc.plan.tenant_changes import has_left, left, owner_of, removal, tenant_of, tenants, workloads_in


@impact("IMP252", Level.NONE)
def tenant_added(change: Change) -> Impacts:
    """A tenant is new."""
    for tenant in tenants(change):
        if tenant.is_added and not change.is_new:
            message = f"is new, with namespaces {tenant.names}"
            raised = Raised(f"tenant {tenant.tenant}", message, tenant.pairs[0].after)
            path = ("spec", "tenants", tenant.tenant)
            yield raised._replace(manifest=None, path=path) if change.after.source else raised


@impact("IMP251", Level.DISRUPTS)
def tenant_removed(change: Change) -> Impacts:
    """A tenant is removed from the spec, but its namespaces stay in the cluster."""
    for tenant in tenants(change):
        removed = [pair for pair in tenant.pairs if pair in left(change)]
        if tenant.is_removed and removed and not has_left(change, removed):
            names = ", ".join(pair.name for pair in removed)
            raised = removal(change, removed, f"tenant {tenant.tenant}", f"is removed with namespaces {names}")
            if change.before.source is not None:
                raised = raised._replace(manifest=None, path=("spec", "tenants", tenant.tenant))
            yield raised


@impact("IMP254", Level.NONE)
def namespace_added(change: Change) -> Impacts:
    """An existing tenant gets another namespace."""
    new = {tenant.tenant for tenant in tenants(change) if tenant.is_added}
    for pair in change.pairs("", "Namespace"):
        if pair.is_added and tenant_of(pair, 1) and tenant_of(pair, 1) not in new:
            yield pair.raised(f"is new in tenant {tenant_of(pair, 1)}")


@impact("IMP255", Level.DISRUPTS)
def namespace_moves(change: Change) -> Impacts:
    """A namespace moves to another tenant."""
    for pair in change.pairs("", "Namespace"):
        before, after = tenant_of(pair, 0), tenant_of(pair, 1)
        if pair.is_changed and before and after and before != after:
            message = (
                f"moves from tenant {before} to tenant {after}: the members of {after} get access to everything in it"
            )
            details = (
                f"workloads that run continue{_waiting(change, pair.name)}",
                "pods that run keep the labels, tolerations and network connections that they have",
            )
            yield pair.raised(message, (), details)


def _waiting(change: Change, namespace: str) -> str:
    """Returns what happens to the workloads that wait in queues which do not move with the namespace."""
    local_queues = (pair for pair in change.pairs(GROUP, "LocalQueue") if pair.namespace == namespace)
    places = {pair.name: pair.values("spec", "clusterQueue") for pair in local_queues}
    lost = sorted(name for name, (before, after) in places.items() if before is not None and before != after)
    return f"; workloads that wait in {kind_of(lost, 'queue')} of the old tenant are not admitted" if lost else ""


@impact("IMP253", Level.DISRUPTS)
def namespace_removed(change: Change) -> Impacts:
    """A namespace of a tenant is removed from the spec, but stays in the cluster. The tenant stays too."""
    gone = {tenant.tenant for tenant in tenants(change) if tenant.is_removed}
    for pair in left(change):
        tenant = tenant_of(pair, 0)
        if tenant and tenant not in gone and not has_left(change, [pair]):
            yield removal(change, [pair], f"namespace {pair.name}", f"is removed from tenant {tenant}")


@impact("IMP263", Level.RESTRICTS)
def left_namespace_removed(change: Change) -> Impacts:
    """Namespaces are removed that had `leaving: true` before this change, alone or with their tenant."""
    removed = [pair for pair in left(change) if has_left(change, [pair])]
    for owner, pairs in grouped(removed, lambda pair: owner_of(change, pair.name)).items():
        names = kind_of([pair.name for pair in pairs], "namespace")
        yield removal(change, pairs, owner, f"removal of {names}")


@impact("IMP262", Level.DESTROYS)
def namespace_deleted(change: Change) -> Impacts:
    """A namespace is removed, and Argo CD deletes the namespace with everything in it."""
    removed = [pair for pair in change.pairs("", "Namespace") if pair.is_removed and pair not in left(change)]
    for owner, pairs in grouped(removed, lambda pair: owner_of(change, pair.name)).items():
        names = [pair.name for pair in pairs]
        message = f"Argo CD deletes {kind_of(names, 'namespace')}, with all pods and PersistentVolumeClaims"
        predicts = workloads_of("namespace", names, "evicted")
        yield Raised(owner, message, pairs[0].before, (), tuple(workloads_in(change, pairs)), predicts)

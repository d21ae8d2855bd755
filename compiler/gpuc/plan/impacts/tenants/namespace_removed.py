from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, impact
from gpuc.plan.tenant_changes import has_left, left, removal, tenant_of, tenants


@impact("IMP253", Level.DISRUPTS, source="argo-cd v3.5.1 docs/user-guide/sync-options.md, No Prune Resources")
def namespace_removed(change: Change) -> Impacts:
    """A namespace of a tenant that stays is removed, and stays in the cluster.

    Argo CD removes its roles and its LocalQueues, so that members have no access and start no workloads. Argo CD does
    not prune the namespace: it stays in the cluster with the pods that run in it.
    """
    gone = {tenant.tenant for tenant in tenants(change) if tenant.is_removed}
    for pair in left(change, [pair for pair in change.pairs("", "Namespace") if pair.is_removed]):
        tenant = tenant_of(pair, 0)
        if tenant and tenant not in gone and not has_left(change, [pair]):
            yield removal(change, [pair], f"namespace {pair.name}", f"is removed from tenant {tenant}")

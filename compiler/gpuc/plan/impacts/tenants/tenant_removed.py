from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, impact
from gpuc.plan.tenant_changes import has_left, left, removal, tenants


@impact("IMP251", Level.DISRUPTS, source="argo-cd v3.5.1 docs/user-guide/sync-options.md, No Prune Resources")
def tenant_removed(change: Change) -> Impacts:
    """A tenant is removed, and its namespaces stay in the cluster.

    Argo CD removes the roles and the LocalQueues of the tenant, so that members have no access and start no workloads.
    Argo CD does not prune the namespaces: they stay in the cluster with the pods that run in them.
    """
    for tenant in tenants(change):
        removed = left(change, [pair for pair in tenant.pairs if pair.is_removed])
        if tenant.is_removed and removed and not has_left(change, removed):
            names = ", ".join(pair.name for pair in removed)
            raised = removal(change, removed, f"tenant {tenant.tenant}", f"is removed with namespaces {names}")
            if change.before.source is not None:
                raised = raised._replace(manifest=None, path=("spec", "tenants", tenant.tenant))
            yield raised

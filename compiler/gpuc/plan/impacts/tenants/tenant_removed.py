from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Raised, impact
from gpuc.plan.namespace_removal import access_text, has_left, left, removal_details, removal_predictions, workloads_in
from gpuc.plan.tenant_changes import tenants


@impact("IMP251", Level.DISRUPTS, source="argo-cd v3.5.1 docs/user-guide/sync-options.md, No Prune Resources")
def tenant_removed(change: Change) -> Impacts:
    """A tenant is removed, and its namespaces stay in the cluster.

    Argo CD removes the roles and the LocalQueues of the tenant, so that members have no access and start no workloads.
    Argo CD does not prune the namespaces: they stay in the cluster with the pods that run in them.
    """
    for tenant in tenants(change):
        removed = left(change, [pair for pair in tenant.pairs if pair.is_removed])
        if tenant.is_removed and removed and not has_left(change, removed):
            names = [pair.name for pair in removed]
            message = f"is removed with namespaces {', '.join(names)}: {access_text(change, removed)}"
            details = (*removal_details(names), *workloads_in(change, removed))
            has_spec = change.before.source is not None
            manifest, path = (None, ("spec", "tenants", tenant.tenant)) if has_spec else (removed[0].before, ())
            predicts = removal_predictions(change, removed)
            yield Raised(f"tenant {tenant.tenant}", message, manifest, path, details, predicts)

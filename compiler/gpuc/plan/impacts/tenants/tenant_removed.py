from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Raised, impact
from gpuc.plan.namespace_removal import removal_details, removal_predictions, workloads_in
from gpuc.plan.tenant_changes import tenants


@impact("IMP251", Level.DISRUPTS, source="argo-cd v3.5.1 docs/user-guide/sync-options.md, No Prune Resources")
def tenant_removed(change: Change) -> Impacts:
    """A tenant is removed with all of its namespaces.

    Argo CD removes the roles and the LocalQueues of the tenant, so that members have no access and start no workloads.
    Namespaces that Argo CD does not prune stay in the cluster, with the pods that run in them.
    """
    for tenant in tenants(change):
        removed = [pair for pair in tenant.pairs if pair.is_removed]
        if tenant.is_removed and len(removed) == len(tenant.pairs) and not change.is_removed:
            message = f"is removed with namespaces {tenant.names}: members lose access, and no new workload starts"
            details = (*removal_details(change, removed), *workloads_in(change, removed))
            manifest, path = (
                (None, ("spec", "tenants", tenant.tenant)) if change.before.source else (removed[0].before, ())
            )
            yield Raised(
                f"tenant {tenant.tenant}", message, manifest, path, details, removal_predictions(change, removed)
            )

from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Raised, impact
from gpuc.plan.namespace_removal import access_text, has_left, left, removal_details, removal_predictions, workloads_in
from gpuc.plan.tenant_changes import tenant_of, tenants


@impact("IMP253", Level.DISRUPTS, source="argo-cd v3.5.1 docs/user-guide/sync-options.md, No Prune Resources")
def namespace_removed(change: Change) -> Impacts:
    """A namespace of a tenant that stays is removed, and stays in the cluster.

    Argo CD removes its roles and its LocalQueues, so that members have no access and start no workloads. Argo CD does
    not prune the namespace: it stays in the cluster with the pods that run in it.
    """
    gone = {tenant.tenant for tenant in tenants(change) if tenant.is_removed}
    for pair in change.pairs("", "Namespace"):
        if not pair.is_removed or not left(change, [pair]) or has_left(change, [pair]):
            continue
        if tenant_of(pair, 0) and tenant_of(pair, 0) not in gone:
            message = f"is removed from tenant {tenant_of(pair, 0)}: {access_text(change, [pair])}"
            details = (*removal_details([pair.name]), *workloads_in(change, [pair]))
            predicts = removal_predictions(change, [pair])
            yield Raised(f"namespace {pair.name}", message, pair.before, (), details, predicts)

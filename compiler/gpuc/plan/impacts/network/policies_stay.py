from gpuc.diagnostics.finding import Path
from gpuc.diagnostics.words import kind_of
from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Raised, impact
from gpuc.plan.network_paths import at_isolation, isolation_that_stays
from gpuc.plan.tenant_changes import tenants


@impact("IMP408", Level.DISRUPTS, source="argo-cd v3.5 docs/user-guide/sync-options.md, No Prune Resources")
def policies_stay(change: Change) -> Impacts:
    """The policies that isolate namespaces stay, and Argo CD prunes the policies that allow connections.

    NetworkPolicy default-deny is protected from pruning. If the isolation of a tenant ends in the spec, or if a tenant
    or a namespace is removed, the pods that run have no connections at all, DNS included, until an administrator
    deletes the policy. With `delivery.prune: never`, all policies stay: the namespaces stay isolated, and their pods
    keep the connections of before.
    """
    removed_tenants = {tenant.tenant for tenant in tenants(change) if tenant.is_removed}
    for tenant, namespaces, manifest in isolation_that_stays(change):
        where = kind_of(namespaces, "namespace")
        message = f"{manifest.kind} {manifest.name} stays in {where}: pods lose all connections, DNS included"
        kind = manifest.kind.lower()
        commands = (f"kubectl delete {kind} --namespace {name} {manifest.name}" for name in namespaces)
        details = [f"to end the isolation: {'; '.join(commands)}"]
        removed = [name for name in namespaces if name not in change.after.objects.namespaces]
        if removed:
            details.insert(0, f"merge when the work in {', '.join(removed)} has ended")
        raised = Raised(f"tenant {tenant}", message, manifest, (), tuple(details))
        if removed and change.before.source is not None:
            path: Path = ("spec", "tenants", tenant)
            path = path if tenant in removed_tenants else (*path, "namespaces", removed[0])
            yield raised._replace(manifest=None, path=path)
        else:
            yield at_isolation(change, raised, tenant)

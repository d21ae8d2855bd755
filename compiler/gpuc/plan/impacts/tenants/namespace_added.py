from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Raised, impact
from gpuc.plan.tenant_changes import tenant_of, tenants


@impact("IMP254", Level.NONE, source="kubernetes v1.35.4 pkg/apis/core/types.go, Namespace")
def namespace_added(change: Change) -> Impacts:
    """A tenant that exists gets another namespace.

    If the namespace exists in the cluster, Argo CD takes it over and sets its labels.
    """
    new = {tenant.tenant for tenant in tenants(change) if tenant.is_added}
    for pair in change.pairs("", "Namespace"):
        if pair.is_added and tenant_of(pair, 1) and tenant_of(pair, 1) not in new:
            yield Raised(f"namespace {pair.name}", f"is new in tenant {tenant_of(pair, 1)}", pair.after)

from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Raised, impact
from gpuc.plan.tenant_changes import tenants


@impact("IMP252", Level.NONE, source="kubernetes v1.35.4 pkg/apis/core/types.go, Namespace")
def tenant_added(change: Change) -> Impacts:
    """A tenant is new.

    Its members get rights in its namespaces. Other impacts name the queues and the quotas that the tenant shares with
    other tenants.
    """
    for tenant in tenants(change):
        if tenant.is_added and not change.is_new:
            message = f"is new, with namespaces {tenant.names}"
            path = ("spec", "tenants", tenant.tenant)
            manifest = None if change.after.source else tenant.pairs[0].after
            yield Raised(f"tenant {tenant.tenant}", message, manifest, path if change.after.source else ())

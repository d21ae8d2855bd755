from __future__ import annotations

from gpuc.diagnostics.finding import Severity
from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("NSP001", Severity.WARNING, source="https://kubernetes.io/docs/concepts/services-networking/network-policies/")
def only_tenant_without_isolation(cluster: Cluster) -> Findings:
    """One tenant has no NetworkPolicies, but all other tenants have NetworkPolicies.

    Pods of every namespace in the cluster can connect to pods of this tenant. gpuc reports this mistake in clusters
    with three or more tenants.
    """
    open_tenants = [tenant for tenant in cluster.tenants if not tenant.isolates_network]
    if len(open_tenants) == 1 and len(cluster.tenants) > 2:
        (tenant,) = open_tenants
        message = (
            f"isolation of tenant {tenant.name} is {tenant.spec.isolation}, but all other tenants have NetworkPolicies"
        )
        yield (*tenant.path, "isolation"), message

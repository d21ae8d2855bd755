from __future__ import annotations

from gpuc.diagnostics.finding import Severity
from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("NSP001", Severity.WARNING, source="https://kubernetes.io/docs/concepts/services-networking/network-policies/")
def only_tenant_without_isolation(cluster: Cluster) -> Findings:
    """One tenant has no NetworkPolicies, but all others, at least two, have them.

    Every namespace of the cluster can reach its pods, which the other tenants may not expect.
    """
    open_tenants = [tenant for tenant in cluster.tenants if not tenant.isolates_network]
    if len(open_tenants) == 1 and len(cluster.tenants) > 2:
        (tenant,) = open_tenants
        message = f"isolation of {tenant.name} is {tenant.spec.isolation}; the other tenants isolate their network"
        yield (*tenant.path, "isolation"), message

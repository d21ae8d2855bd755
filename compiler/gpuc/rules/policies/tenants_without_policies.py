from __future__ import annotations

from gpuc.diagnostics.finding import Severity
from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("POL111", Severity.WARNING)
def tenants_without_policies(cluster: Cluster) -> Findings:
    """The cluster has tenants, but no admission policies.

    RBAC, ResourceQuotas, Pod Security and NetworkPolicies apply, but no policy keeps pods to the queues and node pools
    of their tenant: a tenant can use GPUs that Kueue counts for other tenants, and start nodes of other tenants.
    """
    if cluster.tenants and cluster.spec.policies is None:
        message = (
            f"policies is missing, but the spec has tenants: {', '.join(tenant.name for tenant in cluster.tenants)}"
        )
        yield ("spec", "tenants"), message, "add policies: {default: deny}"

from __future__ import annotations

from gpuc.diagnostics.finding import Related
from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("NET003", source="aws/amazon-vpc-cni-k8s README, network policy")
def unenforced_isolation(cluster: Cluster) -> Findings:
    """Tenants are isolated by NetworkPolicies, but no network plugin enforces NetworkPolicies.

    The API server accepts the NetworkPolicies, but every pod can still connect to every other pod.
    """
    tenants = [tenant for tenant in cluster.tenants if tenant.isolates_network]
    if cluster.aws.network_policy_engine == "none" and tenants:
        isolated = ", ".join(f"{tenant.name} ({tenant.spec.isolation})" for tenant in tenants)
        message = f"cloud.aws.networkPolicyEngine is none, but these tenants need NetworkPolicies: {isolated}"
        related = [Related(f"isolation of tenant {tenant.name}", (*tenant.path, "isolation")) for tenant in tenants]
        yield ("spec", "cloud", "aws", "networkPolicyEngine"), message, "", related

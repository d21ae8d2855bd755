from __future__ import annotations

from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("NET003", source="aws/amazon-vpc-cni-k8s README, network policy")
def unenforced_isolation(cluster: Cluster) -> Findings:
    """Tenants are isolated by NetworkPolicies that nobody enforces.

    The API server takes them, kubectl shows them, and every pod still reaches every other.
    """
    tenants = [tenant for tenant in cluster.tenants if tenant.isolates_network]
    if cluster.aws.network_policy_engine == "none" and tenants:
        wishes = ", ".join(f"{tenant.name} ({tenant.spec.isolation})" for tenant in tenants)
        yield ("spec", "cloud", "aws", "networkPolicyEngine"), f"networkPolicyEngine is none, but isolated are {wishes}"

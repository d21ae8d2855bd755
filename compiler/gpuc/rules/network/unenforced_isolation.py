from __future__ import annotations

from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("NET003", source="aws/amazon-vpc-cni-k8s README, network policy")
def unenforced_isolation(cluster: Cluster) -> Findings:
    """Tenants are isolated by NetworkPolicies, but nothing in the cluster enforces them.

    The API server accepts the NetworkPolicies and kubectl shows them, but every pod still reaches every other pod.
    """
    tenants = [tenant for tenant in cluster.tenants if tenant.isolates_network]
    if cluster.aws.network_policy_engine == "none" and tenants:
        isolated = ", ".join(f"{tenant.name} ({tenant.spec.isolation})" for tenant in tenants)
        message = f"networkPolicyEngine is none, but these tenants isolate their network: {isolated}"
        yield ("spec", "cloud", "aws", "networkPolicyEngine"), message

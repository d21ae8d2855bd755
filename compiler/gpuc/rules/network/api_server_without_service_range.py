from __future__ import annotations

from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule(
    "NET005",
    source="aws/amazon-network-policy-controller-k8s v1.1.7 pkg/resolvers/endpoints.go (getMatchingServiceClusterIPs)",
)
def api_server_without_service_range(cluster: Cluster) -> Findings:
    """A tenant uses the API server, but the policy does not include the address at which pods connect to it.

    Pods connect to the ClusterIP of Service kubernetes, the first address of the service range. The VPC CNI judges a
    packet before kube-proxy replaces this address, so rules for other addresses of the API server do not match.
    """
    fact = cluster.datapath.get("api-server")
    if fact is None or "ip-block" not in fact.matched_by or cluster.aws.service_cidr is not None:
        return
    for tenant in cluster.tenants:
        if tenant.spec.network.api_server and tenant.isolates_network:
            message = (
                f"tenant {tenant.name} has apiServer: true, but cloud.aws has no serviceCidr; with networkPolicyEngine "
                f"{fact.engine}, pods cannot connect to Service kubernetes"
            )
            fix = (
                f"set cloud.aws.serviceCidr to the output of aws eks describe-cluster --name {cluster.aws.eks_cluster} "
                "--query cluster.kubernetesNetworkConfig.serviceIpv4Cidr"
            )
            yield (*tenant.path, "network", "apiServer"), message, fix

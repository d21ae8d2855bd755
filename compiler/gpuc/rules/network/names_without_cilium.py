from __future__ import annotations

from gpuc.diagnostics.finding import Related
from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule(
    "NET007",
    source="aws/aws-network-policy-agent v1.4.1 controllers/policyendpoints_controller.go, which skips domain names; "
    "EKS user guide, Use Network Policies with EKS Auto Mode",
)
def names_without_cilium(cluster: Cluster) -> Findings:
    """A tenant may connect to host names, but the network policy engine matches no host names.

    Only Cilium reads the answers of DNS and allows the addresses in the answers. The VPC CNI has policies with host
    names only on the nodes of EKS Auto Mode, which Karpenter does not create.
    """
    fact, engine = cluster.datapath.get("named"), cluster.aws.network_policy_engine
    for tenant in cluster.tenants if fact is None or "name" not in fact.matched_by else ():
        for index, egress in enumerate(tenant.spec.network.egress):
            if egress.names is not None:
                message = (
                    f"egress of tenant {tenant.name} has names, but networkPolicyEngine is {engine}; expected "
                    f"cidrs, or network.internet, or networkPolicyEngine cilium"
                )
                related = [Related(f"the engine is {engine}", ("spec", "cloud", "aws", "networkPolicyEngine"))]
                yield (*tenant.path, "network", "egress", index, "names"), message, "", related

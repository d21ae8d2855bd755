from __future__ import annotations

from gpuc.diagnostics.finding import Related
from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("NET008", source="cilium/cilium v1.20.2 Documentation/security/policy/layer3.rst, Entities based")
def gateway_without_cilium(cluster: Cluster) -> Findings:
    """A tenant allows the gateways of Cilium, but Cilium is not the network policy engine.

    Only policies of Cilium can name its proxy. A gateway of another project runs as pods in a namespace.
    """
    fact, engine = cluster.datapath.get("gateway"), cluster.aws.network_policy_engine
    for tenant in cluster.tenants if fact is None or not fact.entity else ():
        for index, ingress in enumerate(tenant.spec.network.ingress):
            if ingress.gateway:
                message = (
                    f"ingress of tenant {tenant.name} has gateway: true, but networkPolicyEngine is {engine}; expected "
                    f"the namespace of the gateway's pods, or networkPolicyEngine cilium"
                )
                related = [Related(f"the engine is {engine}", ("spec", "cloud", "aws", "networkPolicyEngine"))]
                yield (*tenant.path, "network", "ingress", index, "gateway"), message, "", related

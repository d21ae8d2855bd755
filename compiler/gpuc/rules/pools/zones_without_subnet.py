from __future__ import annotations

from gpuc.diagnostics.finding import Related
from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("KRP151", source="Amazon VPC User Guide, Subnet basics: each subnet is in one Availability Zone")
def zones_without_subnet(cluster: Cluster) -> Findings:
    """The cluster has fewer subnets than zones.

    A subnet is in one zone. Karpenter starts no nodes in a zone without a subnet.
    """
    subnets, zones = set(cluster.aws.subnets.ids or ()), set(cluster.aws.zones)
    if cluster.aws.subnets.ids and len(subnets) < len(zones):
        message = f"the number of subnets is {len(subnets)}; expected at least {len(zones)}, one in each zone"
        related = [Related(f"{len(zones)} zones", ("spec", "cloud", "aws", "zones"), on_key=True)]
        yield ("spec", "cloud", "aws", "subnets", "ids"), message, "", related

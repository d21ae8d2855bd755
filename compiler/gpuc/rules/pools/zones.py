"""The zones of node pools and of the cluster."""

from __future__ import annotations

from gpuc.diagnostics.finding import Path, Related
from gpuc.model import Cluster, Pool
from gpuc.rules import Findings, Found, pool_rule, rule

ZONES: Path = ("spec", "cloud", "aws", "zones")


@pool_rule("KRP113", source="EC2 user guide, cluster placement groups")
def placement_across_zones(pool: Pool) -> Findings:
    """A node pool in several zones has a cluster placement group.

    A placement group with the cluster strategy is in one zone. EC2 cannot start nodes in the other zones.
    """
    if pool.scaling.placement and len(pool.zones) > 1:
        actual = f"node pool {pool.name} has placement {pool.scaling.placement} in zones {', '.join(pool.zones)}"
        message = f"{actual}; expected one zone"
        zones = (*pool.scaling_path, "zones") if pool.scaling.zones else ZONES
        fix = f"name one zone under zones of node pool {pool.name}"
        yield Found((*pool.scaling_path, "placement"), message, fix, [Related("the zones", zones, on_key=True)])


@rule("KRP114")
def zone_outside_cluster(cluster: Cluster) -> Findings:
    """A node pool is in a zone where the cluster has no subnets.

    Karpenter finds no subnet in the zone and starts no node there.
    """
    for pool in cluster.pools:
        for index, zone in enumerate(pool.scaling.zones or []):
            if zone not in cluster.aws.zones:
                zones = ", ".join(cluster.aws.zones)
                message = f"zone {zone} of node pool {pool.name} is not a zone of the cluster; expected one of {zones}"
                related = [Related("zones of the cluster", ZONES, on_key=True)]
                yield Found((*pool.scaling_path, "zones", index), message, related=related)


@rule("KRP115")
def zone_outside_region(cluster: Cluster) -> Findings:
    """A zone of the cluster is not in the region of the cluster.

    The subnets of an EKS cluster are in the zones of one region.
    """
    aws = cluster.aws
    for index, zone in enumerate(aws.zones):
        if zone[:-1] != aws.region:
            message = f"zone {zone} is not in region {aws.region}; expected a zone of region {aws.region}"
            related = [Related(f"the region is {aws.region}", ("spec", "cloud", "aws", "region"))]
            yield Found((*ZONES, index), message, related=related)


@rule("KRP151", source="Amazon VPC User Guide, Subnet basics: each subnet is in one Availability Zone")
def zones_without_subnet(cluster: Cluster) -> Findings:
    """The cluster has fewer subnets than zones.

    A subnet is in one zone. Karpenter starts no nodes in a zone without a subnet.
    """
    subnets, zones = set(cluster.aws.subnets.ids or ()), set(cluster.aws.zones)
    if cluster.aws.subnets.ids and len(subnets) < len(zones):
        message = f"the number of subnets is {len(subnets)}; expected at least {len(zones)}, one in each zone"
        related = [Related(f"{len(zones)} zones", ZONES, on_key=True)]
        yield Found(("spec", "cloud", "aws", "subnets", "ids"), message, related=related)

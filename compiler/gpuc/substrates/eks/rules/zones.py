"""Rules about the availability zones of node pools and of the cluster."""

from gpuc.diagnostics.finding import Path, Related
from gpuc.model import Cluster, Pool
from gpuc.rules import Findings, Found, pool_rule, rule
from gpuc.substrates.eks.scaling import aws, eks

ZONES: Path = ("spec", "cloud", "aws", "zones")


@pool_rule("KRP113")
def placement_across_zones(pool: Pool) -> Findings:
    """A node pool has a cluster placement group, but is in several zones."""
    if eks(pool).spec.placement and len(pool.zones) > 1:
        actual = f"node pool {pool.name} has placement {eks(pool).spec.placement} in zones {', '.join(pool.zones)}"
        message = f"{actual}; expected one zone"
        zones = (*eks(pool).path, "zones") if eks(pool).spec.zones else ZONES
        fix = f"name one zone under zones of node pool {pool.name}"
        yield Found((*eks(pool).path, "placement"), message, fix, [Related("the zones", zones, on_key=True)])


@rule("KRP114")
def zone_outside_cluster(cluster: Cluster) -> Findings:
    """A node pool is in a zone where the cluster has no subnets."""
    for pool in cluster.pools:
        for index, zone in enumerate(eks(pool).spec.zones or []):
            if zone not in aws(cluster).zones:
                zones = ", ".join(aws(cluster).zones)
                message = f"zone {zone} of node pool {pool.name} is not a zone of the cluster; expected one of {zones}"
                related = [Related("zones of the cluster", ZONES, on_key=True)]
                yield Found((*eks(pool).path, "zones", index), message, related=related)


@rule("KRP115")
def zone_outside_region(cluster: Cluster) -> Findings:
    """A zone of the cluster is not in the region of the cluster."""
    section = aws(cluster)
    for index, zone in enumerate(section.zones):
        if zone[:-1] != section.region:
            message = f"zone {zone} is not in region {section.region}; expected a zone of region {section.region}"
            related = [Related(f"the region is {section.region}", ("spec", "cloud", "aws", "region"))]
            yield Found((*ZONES, index), message, related=related)


@rule("KRP151")
def zones_without_subnet(cluster: Cluster) -> Findings:
    """The cluster has fewer subnets than zones."""
    subnets, zones = set(aws(cluster).subnets.ids or ()), set(aws(cluster).zones)
    if aws(cluster).subnets.ids and len(subnets) < len(zones):
        message = f"the number of subnets is {len(subnets)}; expected at least {len(zones)}, one in each zone"
        related = [Related(f"{len(zones)} zones", ZONES, on_key=True)]
        yield Found(("spec", "cloud", "aws", "subnets", "ids"), message, related=related)

from __future__ import annotations

from gpuc.diagnostics.finding import Related
from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("KRP114")
def zone_outside_cluster(cluster: Cluster) -> Findings:
    """A node pool is in a zone where the cluster has no subnets.

    Karpenter finds no subnet in the zone and starts no node there.
    """
    for pool in cluster.pools:
        for index, zone in enumerate(pool.spec.zones or []):
            if zone not in cluster.aws.zones:
                zones = ", ".join(cluster.aws.zones)
                message = f"zone {zone} of node pool {pool.name} is not a zone of the cluster; expected one of {zones}"
                related = [Related("zones of the cluster", ("spec", "cloud", "aws", "zones"), on_key=True)]
                yield (*pool.path, "zones", index), message, "", related

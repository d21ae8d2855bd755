from __future__ import annotations

from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("KRP113", source="EC2 user guide, cluster placement groups")
def placement_across_zones(cluster: Cluster) -> Findings:
    """Nodes of several zones shall stand close together.

    A placement group of the cluster strategy lies in one zone: launches in the others fail.
    """
    for pool in cluster.pools:
        if pool.spec.placement and len(pool.zones) > 1:
            message = f"placement is {pool.spec.placement} over zones {', '.join(pool.zones)}; it takes one zone"
            yield (*pool.path, "placement"), message, "name one zone under zones"

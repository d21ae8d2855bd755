from __future__ import annotations

from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("KRP113", source="EC2 user guide, cluster placement groups")
def placement_across_zones(cluster: Cluster) -> Findings:
    """A pool in several zones has a cluster placement group.

    A placement group with the cluster strategy lies in one zone. Launches in the other zones fail.
    """
    for pool in cluster.pools:
        if pool.spec.placement and len(pool.zones) > 1:
            message = f"placement is {pool.spec.placement} in zones {', '.join(pool.zones)}; expected one zone"
            yield (*pool.path, "placement"), message, "name one zone under zones"

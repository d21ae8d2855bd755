from __future__ import annotations

from gpuc.diagnostics.finding import Related
from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("KRP113", source="EC2 user guide, cluster placement groups")
def placement_across_zones(cluster: Cluster) -> Findings:
    """A node pool in several zones has a cluster placement group.

    A placement group with the cluster strategy is in one zone. EC2 cannot start nodes in the other zones.
    """
    for pool in cluster.pools:
        if pool.spec.placement and len(pool.zones) > 1:
            actual = f"node pool {pool.name} has placement {pool.spec.placement} in zones {', '.join(pool.zones)}"
            message = f"{actual}; expected one zone"
            zones = (*pool.path, "zones") if pool.spec.zones else ("spec", "cloud", "aws", "zones")
            fix = f"name one zone under zones of node pool {pool.name}"
            yield (*pool.path, "placement"), message, fix, [Related("the zones", zones, on_key=True)]

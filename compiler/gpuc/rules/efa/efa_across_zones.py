from __future__ import annotations

from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("EFA005", source="EC2 user guide, Elastic Fabric Adapter limitations")
def efa_across_zones(cluster: Cluster) -> Findings:
    """A pool with EFA has several zones.

    EFA traffic does not leave its zone. A gang in two zones hangs in its first collective, with all its GPUs.
    """
    for pool in cluster.efa_pools:
        if len(set(pool.zones)) > 1:
            path = (*pool.path, "zones", 1) if pool.spec.zones else (*pool.path, "fabric")
            yield path, f"fabric efa in zones {', '.join(pool.zones)}; EFA needs one zone", "name one zone under zones"

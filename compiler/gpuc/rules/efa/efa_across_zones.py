from __future__ import annotations

from gpuc.diagnostics.finding import Path, Related
from gpuc.model import Cluster
from gpuc.rules import Findings, rule

ZONES: Path = ("spec", "cloud", "aws", "zones")


@rule("EFA005", source="EC2 user guide, Elastic Fabric Adapter limitations")
def efa_across_zones(cluster: Cluster) -> Findings:
    """A node pool with EFA is in several zones.

    EFA traffic cannot cross zones. A distributed job with pods in two zones hangs in its first NCCL collective and
    keeps all of its GPUs.
    """
    for pool in cluster.efa_pools:
        if len(set(pool.zones)) > 1:
            path: Path = (*pool.path, "fabric")
            related = [Related("node pools without zones are in all zones of the cluster", ZONES, on_key=True)]
            if pool.spec.zones:
                path, related = (*pool.path, "zones", 1), [Related("fabric of the node pool is efa", path)]
            message = f"node pool {pool.name} has fabric efa in zones {', '.join(pool.zones)}; expected one zone"
            yield path, message, f"name one zone under zones of node pool {pool.name}", related

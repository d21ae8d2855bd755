from __future__ import annotations

from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("KUE005", source="kubernetes-sigs/kueue v0.19.2 pkg/scheduler/flavorassigner/tas_flavorassigner.go")
def topology_without_lasting_nodes(cluster: Cluster) -> Findings:
    """A pool has a topology, but its nodes are not static.

    Topology-aware scheduling counts nodes that exist. A pool that starts at none never gets one, reserved capacity or
    not: the work is not admitted, so no pod asks for a node.
    """
    for pool in cluster.pools:
        if pool.spec.topology and not pool.is_static:
            most = pool.nodes_max
            yield (
                (*pool.path, "topology"),
                f"topology on a pool that starts at no node; nodes: {{static: {most}}} has them",
            )

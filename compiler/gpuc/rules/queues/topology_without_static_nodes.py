from __future__ import annotations

from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("KUE005", source="kubernetes-sigs/kueue v0.19.2 pkg/scheduler/flavorassigner/tas_flavorassigner.go")
def topology_without_static_nodes(cluster: Cluster) -> Findings:
    """A pool has a topology, but its nodes are not static.

    Topology-aware scheduling counts existing nodes. A pool that starts with no nodes never gets one, even with reserved
    capacity: Kueue does not admit the workload, so no pod requests a node.
    """
    for pool in cluster.pools:
        if pool.spec.topology and not pool.is_static:
            most = pool.nodes_max
            yield (
                (*pool.path, "topology"),
                f"topology needs static nodes, but the pool starts with none; write nodes: {{static: {most}}}",
            )

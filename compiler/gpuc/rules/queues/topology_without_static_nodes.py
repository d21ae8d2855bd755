from __future__ import annotations

from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("KUE005", source="kubernetes-sigs/kueue v0.19.2 pkg/scheduler/flavorassigner/tas_flavorassigner.go")
def topology_without_static_nodes(cluster: Cluster) -> Findings:
    """A node pool has a topology, but is not static.

    Topology-aware scheduling counts only existing nodes. A node pool that starts without nodes never gets a node, even
    with reserved capacity: Kueue does not admit the workload, so Karpenter finds no pod for which a node is needed.
    """
    for pool in cluster.pools:
        if pool.spec.topology and not pool.is_static:
            words = not_static(f"node pool {pool.name}", f"nodes: {{static: {pool.nodes_max}}}")
            yield (*pool.path, "topology"), words


def not_static(pool: str, expected: str) -> str:
    """Returns the message that a node pool is not static, although Kueue places workloads on it by topology."""
    return f"{pool} has a topology, but is not static; expected {expected}"

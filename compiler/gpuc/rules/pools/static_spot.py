from __future__ import annotations

from gpuc.diagnostics.finding import Related, Severity
from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule(
    "KRP108",
    Severity.WARNING,
    source="kubernetes-sigs/karpenter v1.14.1 pkg/apis/v1/nodepool.go, replicas; kubernetes-sigs/karpenter#3198",
)
def static_spot(cluster: Cluster) -> Findings:
    """Nodes that always run are spot capacity.

    They are the nodes of a static node pool, or the nodes of nodes.min if the node pool buys only spot capacity. EC2
    can take spot nodes back at any time. If EC2 has no spot capacity, Karpenter requests new nodes again and again.
    """
    for pool in cluster.pools:
        is_only_spot = set(pool.spec.purchase) == {"spot"}
        if (pool.is_static and "spot" in pool.spec.purchase) or (pool.warm_nodes and is_only_spot):
            path = (*pool.path, "purchase", pool.spec.purchase.index("spot"))
            actual = "is static" if pool.is_static else f"has nodes.min {pool.warm_nodes}"
            message = f"node pool {pool.name} {actual}, but buys spot capacity; expected on-demand or reserved"
            nodes = (*pool.path, "nodes", "static" if pool.is_static else "min")
            yield path, message, "", [Related("the nodes that always run", nodes)]

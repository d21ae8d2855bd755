from __future__ import annotations

from gpuc.diagnostics.finding import Severity
from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule(
    "KRP108",
    Severity.WARNING,
    source="kubernetes-sigs/karpenter v1.14.1 pkg/apis/v1/nodepool.go, replicas; kubernetes-sigs/karpenter#3198",
)
def static_spot(cluster: Cluster) -> Findings:
    """Nodes that shall always be there are bought as spot.

    EC2 takes them back when it likes, and Karpenter asks for new ones without end while there are none.
    """
    for pool in cluster.pools:
        if pool.is_static and "spot" in pool.spec.purchase:
            path = (*pool.path, "purchase", pool.spec.purchase.index("spot"))
            yield path, f"{pool.name} keeps {pool.nodes_max} static nodes and buys them as spot"

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
    """A static pool buys spot capacity.

    EC2 can take spot nodes back at any time. While there is no spot capacity, Karpenter requests new nodes without end.
    """
    for pool in cluster.pools:
        if pool.is_static and "spot" in pool.spec.purchase:
            path = (*pool.path, "purchase", pool.spec.purchase.index("spot"))
            yield path, f"{pool.name} has {pool.nodes_max} static nodes and buys them as spot"

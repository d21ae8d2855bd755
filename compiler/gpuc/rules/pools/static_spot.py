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
    """A static node pool buys spot capacity.

    EC2 can take spot nodes back at any time. If EC2 has no spot capacity, Karpenter requests new nodes again and again.
    """
    for pool in cluster.pools:
        if pool.is_static and "spot" in pool.spec.purchase:
            path = (*pool.path, "purchase", pool.spec.purchase.index("spot"))
            yield path, f"node pool {pool.name} is static, but buys spot capacity; expected on-demand or reserved"

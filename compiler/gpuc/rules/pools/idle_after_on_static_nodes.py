from __future__ import annotations

from gpuc.diagnostics.finding import Related, Severity
from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("KRP112", Severity.WARNING, source="kubernetes-sigs/karpenter v1.14.1 pkg/apis/v1/nodepool.go, replicas")
def idle_after_on_static_nodes(cluster: Cluster) -> Findings:
    """A static node pool has idleAfter.

    Karpenter never removes the idle nodes of a static node pool, so idleAfter has no effect.
    """
    for pool in cluster.pools:
        if pool.is_static and pool.spec.idle_after is not None:
            message = f"idleAfter has no effect, because node pool {pool.name} is static"
            fix = f"remove idleAfter from node pool {pool.name}"
            related = [Related("the number of nodes is static", (*pool.path, "nodes", "static"))]
            yield (*pool.path, "idleAfter"), message, fix, related

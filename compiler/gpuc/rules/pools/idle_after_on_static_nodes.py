from __future__ import annotations

from gpuc.diagnostics.finding import Severity
from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("KRP112", Severity.WARNING, source="kubernetes-sigs/karpenter v1.14.1 pkg/apis/v1/nodepool.go, replicas")
def idle_after_on_static_nodes(cluster: Cluster) -> Findings:
    """A static pool has idleAfter.

    Karpenter keeps static nodes whether or not they are used; nothing reads the setting.
    """
    for pool in cluster.pools:
        if pool.is_static and pool.spec.idle_after is not None:
            yield (*pool.path, "idleAfter"), f"idleAfter of {pool.name} has no effect; static nodes are never removed"

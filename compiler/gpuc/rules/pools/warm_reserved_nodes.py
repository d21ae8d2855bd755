from __future__ import annotations

from gpuc.diagnostics.finding import Related
from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("KRP148", source="kubernetes-sigs/karpenter v1.14.1 pkg/apis/v1/nodepool.go, replicas")
def warm_reserved_nodes(cluster: Cluster) -> Findings:
    """A node pool with reserved capacity has a minimum number of nodes.

    The minimum keeps a node that is paid for only while it runs. Reserved instances are paid for all the time: a static
    node pool keeps all of them running. Two NodePools would also compete for the instances of one reservation.
    """
    for pool in cluster.pools:
        if pool.warm_nodes and "reserved" in pool.spec.purchase:
            message = (
                f"nodes.min of node pool {pool.name} is {pool.warm_nodes}, but the node pool buys reserved capacity"
            )
            place = (*pool.path, "purchase", pool.spec.purchase.index("reserved"))
            related = [Related("reserved capacity", place)]
            yield (*pool.path, "nodes", "min"), f"{message}; expected no min, or nodes.static", "", related

from __future__ import annotations

from gpuc.diagnostics.finding import Related
from gpuc.model import Cluster
from gpuc.rules import Findings, Found, rule


@rule("KRP149")
def name_of_warm_nodes(cluster: Cluster) -> Findings:
    """A node pool has the name of the NodePool for the minimum of another node pool.

    Two objects would have the same name, and Karpenter would see only one of them.
    """
    names = {pool.warm_node_pool: pool.name for pool in cluster.pools if pool.warm_nodes}
    for pool in cluster.pools:
        if owner := names.get(pool.name):
            message = f"node pool {pool.name} has the name of the NodePool for nodes.min of node pool {owner}"
            related = [Related(f"node pool {owner} has nodes.min", ("spec", "pools", owner, "nodes", "min"))]
            yield Found(pool.path, f"{message}; expected another name", related=related, on_key=True)

from __future__ import annotations

from gpuc.diagnostics.finding import Related
from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("KRP121", source="aws/karpenter-provider-aws v1.14.1 docs/tasks/odcrs")
def more_nodes_than_reserved(cluster: Cluster) -> Findings:
    """A node pool with only reserved capacity has more nodes than its reservations have instances.

    EC2 cannot start the last nodes of the node pool. Workloads that Kueue admits to these nodes wait without end.
    """
    for pool in cluster.pools:
        instances = pool.spec.reservations.instances if pool.spec.reservations else None
        if instances is not None and set(pool.spec.purchase) == {"reserved"} and instances < pool.nodes_max:
            key = "static" if pool.is_static else "max"
            message = (
                f"nodes.{key} of node pool {pool.name} is {pool.nodes_max}, but its reservations have {instances} "
                f"instances; expected at most {instances} nodes"
            )
            related = [Related(f"{instances} reserved instances", (*pool.path, "reservations", "instances"))]
            yield (*pool.path, "nodes", key), message, "", related

from __future__ import annotations

from gpuc.diagnostics.finding import Related, Severity
from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule(
    "KRP122",
    Severity.WARNING,
    source="kubernetes-sigs/karpenter v1.14.1 pkg/controllers/disruption/staticdrift.go",
)
def static_pool_without_spare_node(cluster: Cluster) -> Findings:
    """A static node pool with only reserved capacity has no reserved instance for the replacement of a node.

    Karpenter starts the replacement of a node before it removes the node. Without a free reserved instance, Karpenter
    replaces no node for a new AMI or a security update. You then replace the nodes one by one, as the README of the
    cluster describes.
    """
    for pool in cluster.pools:
        reservations = pool.spec.reservations
        if pool.is_static and reservations and not pool.can_start_spare_node:
            expected = f"expected instances: {pool.nodes_max + 1} or more"
            if reservations.instances is None:
                message = f"reservations.instances of node pool {pool.name} is missing; {expected}"
                yield (*pool.path, "reservations"), message
            elif reservations.instances == pool.nodes_max:
                message = (
                    f"node pool {pool.name} has {pool.nodes_max} static nodes, and its reservations have "
                    f"{reservations.instances} instances; {expected}"
                )
                related = [Related(f"{pool.nodes_max} static nodes", (*pool.path, "nodes", "static"))]
                yield (*pool.path, "reservations", "instances"), message, "", related

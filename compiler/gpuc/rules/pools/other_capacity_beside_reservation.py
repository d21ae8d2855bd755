from __future__ import annotations

from gpuc.diagnostics.finding import Related, Severity
from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule(
    "KRP123",
    Severity.WARNING,
    source="aws/karpenter-provider-aws v1.14.1 pkg/controllers/nodeclass/capacityreservation.go",
)
def other_capacity_beside_reservation(cluster: Cluster) -> Findings:
    """A node pool buys on-demand or spot capacity, although its reservations may have enough instances.

    If the id of a reservation is wrong, or another workload uses the reservation, Karpenter buys all nodes as on-demand
    or spot nodes. Karpenter does not report a reservation that does not exist.
    """
    for pool in cluster.pools:
        reservations = pool.spec.reservations
        if reservations is None or reservations.block or "reserved" not in pool.spec.purchase:
            continue
        others = [bought for bought in pool.spec.purchase if bought != "reserved"]
        if not others or (reservations.instances or pool.nodes_max) < pool.nodes_max:
            continue
        path = (*pool.path, "purchase", pool.spec.purchase.index(others[0]))
        buys = f"node pool {pool.name} also buys {' and '.join(others)} capacity"
        if reservations.instances is None:
            message = f"{buys}, but reservations.instances is missing; expected less than {pool.nodes_max}"
            yield path, message
        else:
            message = f"{buys}, but {reservations.instances} instances are reserved for {pool.nodes_max} nodes"
            where = (*pool.path, "reservations", "instances")
            related = [Related(f"{reservations.instances} reserved instances", where)]
            yield path, message, f"set purchase of node pool {pool.name} to [reserved]", related

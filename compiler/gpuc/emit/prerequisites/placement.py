"""Placement groups of pools."""

from __future__ import annotations

from gpuc.emit.prerequisites.record import Chapter, Row, written
from gpuc.model import Cluster


def chapter(cluster: Cluster) -> Chapter | None:
    """Returns the chapter about placement groups; None without a pool with a placement group."""
    placed = [pool for pool in cluster.pools if pool.spec.placement]
    if not placed:
        return None
    # EC2 places the instances of a capacity block close together without a placement group.
    in_group = [pool for pool in placed if pool.spec.reservations and pool.spec.reservations.block is None]
    rows: list[Row] = [
        ("placement-group", (*pool.path, "placement"), {"name": f"{cluster.name}-{pool.name}"}) for pool in placed
    ]
    return written(cluster, "placement", "Placement groups", rows, placed=placed, reserved_in_group=in_group)

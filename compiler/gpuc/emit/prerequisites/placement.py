"""Placement groups of pools."""

from __future__ import annotations

from gpuc.emit.prerequisites.record import Chapter, Prerequisite, aws
from gpuc.model import Cluster, Pool


def chapter(cluster: Cluster) -> Chapter | None:
    """Returns the chapter about placement groups; None without a pool with a placement group."""
    placed = [pool for pool in cluster.pools if pool.spec.placement]
    if not placed:
        return None
    # EC2 places the instances of a capacity block close together without a placement group.
    in_group = [pool for pool in placed if pool.spec.reservations and pool.spec.reservations.block is None]
    prerequisites = tuple(_placement_group(cluster, pool) for pool in placed)
    return Chapter(
        "Placement groups", "placement.md.j2", prerequisites, {"placed": placed, "reserved_in_group": in_group}
    )


def _placement_group(cluster: Cluster, pool: Pool) -> Prerequisite:
    name = f"{cluster.name}-{pool.name}"
    return Prerequisite(
        id=f"placement-group/{name}",
        what=f"the placement group `{name}`",
        reason="without the group, the EC2NodeClass does not become Ready, and no node starts",
        checks=(
            aws(
                cluster,
                "ec2 describe-placement-groups",
                f"--group-names {name} --query 'PlacementGroups[].[GroupName,Strategy,State]' --output text",
            ),
        ),
        expected=f"{name} cluster available",
        path=(*pool.path, "placement"),
    )

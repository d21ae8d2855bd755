"""Capacity reservations of pools."""

from __future__ import annotations

from gpuc.emit.prerequisites.record import Chapter, Prerequisite, aws
from gpuc.model import Cluster, Pool

TITLE = "Reserved capacity"


def chapter(cluster: Cluster) -> Chapter | None:
    """Returns the chapter about reservations; None without a pool with a reservation."""
    reserved = [pool for pool in cluster.pools if pool.spec.reservations]
    if not reserved:
        return None
    ids = [name for pool in reserved if pool.spec.reservations for name in pool.spec.reservations.ids]
    fields = "CapacityReservationId,InstanceType,AvailabilityZone,TotalInstanceCount,State,EndDate,PlacementGroupArn"
    command = aws(
        cluster,
        "ec2 describe-capacity-reservations",
        f"--capacity-reservation-ids {' '.join(ids)} --query 'CapacityReservations[].[{fields}]' --output table",
    )
    values = {
        "reserved": reserved,
        "reserved_only": [pool for pool in reserved if pool.spec.purchase == ["reserved"]],
        "reserved_and_other": [pool for pool in reserved if pool.spec.purchase != ["reserved"]],
        "types": lambda pool: ", ".join(instance.type for instance in pool.instances),
    }
    prerequisites = tuple(item for pool in reserved for item in _reservations(pool, command))
    return Chapter(TITLE, "capacity.md.j2", prerequisites, values)


def _reservations(pool: Pool, command: str) -> list[Prerequisite]:
    assert pool.spec.reservations is not None
    types = ", ".join(instance.type for instance in pool.instances)
    return [
        Prerequisite(
            id=f"capacity-reservation/{name}",
            what=f"the capacity reservation `{name}` of {types} in {', '.join(pool.zones)}",
            reason="Karpenter does not report a wrong id, and starts no reserved node",
            checks=(command,),
            expected=f"{name}, {types}, {', '.join(pool.zones)}, active",
            path=(*pool.path, "reservations"),
        )
        for name in pool.spec.reservations.ids
    ]

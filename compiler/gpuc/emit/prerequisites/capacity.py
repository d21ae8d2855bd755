"""Capacity reservations of pools."""

from __future__ import annotations

from gpuc.emit.prerequisites.record import Chapter, Row, written
from gpuc.model import Cluster, Pool

TITLE = "Reserved capacity"


def chapter(cluster: Cluster) -> Chapter | None:
    """Returns the chapter about reservations; None without a pool with a reservation."""
    ids_of = [(pool, pool.spec.reservations.ids) for pool in cluster.pools if pool.spec.reservations]
    reserved = [pool for pool, _ in ids_of]
    ids = " ".join(name for _, listed in ids_of for name in listed)
    rows: list[Row] = [
        (
            "capacity-reservation",
            (*pool.path, "reservations"),
            {"name": name, "ids": ids, "types": _types(pool), "zones": ", ".join(pool.zones)},
        )
        for pool, listed in ids_of
        for name in listed
    ]
    values = {
        "reserved": reserved,
        "reserved_only": [pool for pool in reserved if pool.spec.purchase == ["reserved"]],
        "reserved_and_other": [pool for pool in reserved if pool.spec.purchase != ["reserved"]],
        "types": _types,
    }
    return written(cluster, "capacity", TITLE, rows, **values) if reserved else None


def _types(pool: Pool) -> str:
    return ", ".join(instance.type for instance in pool.instances)

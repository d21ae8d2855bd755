from __future__ import annotations

from collections.abc import Iterator

from gpuc.diagnostics.finding import Severity
from gpuc.rules import Owned, fleet_rule
from gpuc.spec.cluster import Spec


@fleet_rule("FLT003", Severity.WARNING)
def same_reservation(spec: Spec) -> Iterator[Owned]:
    """Two clusters use the same reservation.

    The limits and quotas of both clusters count the same capacity. If one cluster uses the capacity, the other cluster
    starts no nodes or buys on-demand nodes.
    """
    for name, pool in spec.pools.items():
        for index, id_ in enumerate(pool.reservations.ids if pool.reservations else []):
            yield Owned(("spec", "pools", name, "reservations", "ids", index), (id_,), f"reservation {id_}")

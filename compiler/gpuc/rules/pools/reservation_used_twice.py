from __future__ import annotations

from gpuc.diagnostics.finding import Severity
from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("KRP109", Severity.WARNING)
def reservation_used_twice(cluster: Cluster) -> Findings:
    """Two pools use the same reservation.

    The limits of both pools count the same capacity. The pool that asks later waits for capacity, or buys on demand.
    """
    owners: dict[str, str] = {}
    for pool in cluster.pools:
        for index, id_ in enumerate(pool.spec.reservations.ids if pool.spec.reservations else []):
            owner = owners.setdefault(id_, pool.name)
            if owner != pool.name:
                yield (*pool.path, "reservations", "ids", index), f"reservation {id_} already belongs to pool {owner}"

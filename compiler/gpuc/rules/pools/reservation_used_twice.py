from __future__ import annotations

from gpuc.diagnostics.finding import Path, Related, Severity
from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("KRP109", Severity.WARNING)
def reservation_used_twice(cluster: Cluster) -> Findings:
    """Two node pools use the same reservation.

    The limits of both node pools count the same capacity. If one node pool uses this capacity, the other node pool
    starts no nodes or buys on-demand nodes.
    """
    owners: dict[str, tuple[str, Path]] = {}
    for pool in cluster.pools:
        for index, id_ in enumerate(pool.spec.reservations.ids if pool.spec.reservations else []):
            path = (*pool.path, "reservations", "ids", index)
            owner, first = owners.setdefault(id_, (pool.name, path))
            if owner != pool.name:
                message = f"node pool {pool.name} and node pool {owner} use reservation {id_}; expected one node pool"
                yield path, message, "", [Related(f"node pool {owner} uses it here", first)]

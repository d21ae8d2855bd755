from __future__ import annotations

from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("KRP013", source="aws/karpenter-provider-aws v1.14.1 docs/tasks/odcrs")
def half_configured_reservation(cluster: Cluster) -> Findings:
    """A pool has reservations that it does not use, or uses reservations that it does not have.

    On-demand nodes are started beside capacity that is paid for, or none at all: since Karpenter 1.6 reservations are
    used only where both halves are there.
    """
    for pool in cluster.pools:
        is_reserved = "reserved" in pool.spec.purchase
        if is_reserved and pool.spec.reservations is None:
            path = (*pool.path, "purchase", pool.spec.purchase.index("reserved"))
            yield path, f"{pool.name} buys reserved capacity, but has no reservations: {{ids: [...]}}"
        elif pool.spec.reservations and not is_reserved:
            bought = ", ".join(pool.spec.purchase)
            message = f"{pool.name} has reservations, but purchase is {bought}"
            yield (*pool.path, "reservations", "ids"), message, "add reserved to purchase"

from __future__ import annotations

from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("KRP013", source="aws/karpenter-provider-aws v1.14.1 docs/tasks/odcrs")
def incomplete_reservation(cluster: Cluster) -> Findings:
    """A pool has reservations without buying reserved capacity, or buys it without reservations.

    Karpenter starts on-demand nodes beside capacity that is already paid for, or starts no nodes. Since Karpenter 1.6
    it uses reservations only if the pool has both settings.
    """
    for pool in cluster.pools:
        is_reserved = "reserved" in pool.spec.purchase
        if is_reserved and pool.spec.reservations is None:
            path = (*pool.path, "purchase", pool.spec.purchase.index("reserved"))
            yield path, f"{pool.name} buys reserved capacity, but has no reservations; add reservations: {{ids: [...]}}"
        elif pool.spec.reservations and not is_reserved:
            bought = ", ".join(pool.spec.purchase)
            message = f"{pool.name} has reservations, but purchase is {bought}; expected reserved in purchase"
            yield (*pool.path, "reservations", "ids"), message, "add reserved to purchase"

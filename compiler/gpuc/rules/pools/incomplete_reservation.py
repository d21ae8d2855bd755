from __future__ import annotations

from gpuc.diagnostics.finding import Related
from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("KRP013", source="aws/karpenter-provider-aws v1.14.1 docs/tasks/odcrs")
def incomplete_reservation(cluster: Cluster) -> Findings:
    """A node pool has reservations but does not buy reserved capacity, or buys reserved capacity without reservations.

    Since version 1.6 Karpenter uses reservations only if the node pool has both settings. Otherwise Karpenter starts
    on-demand nodes, although the reserved capacity is paid for, or starts no nodes.
    """
    for pool in cluster.pools:
        is_reserved = "reserved" in pool.spec.purchase
        if is_reserved and pool.spec.reservations is None:
            path = (*pool.path, "purchase", pool.spec.purchase.index("reserved"))
            message = f"node pool {pool.name} buys reserved capacity, but has no reservations"
            yield path, message, f"add reservations: {{ids: [...]}} to node pool {pool.name}"
        elif pool.spec.reservations and not is_reserved:
            bought = ", ".join(pool.spec.purchase)
            message = f"node pool {pool.name} has reservations, but purchase is {bought}; expected reserved"
            fix = f"add reserved to purchase of node pool {pool.name}"
            related = [Related(f"purchase is {bought}", (*pool.path, "purchase"), on_key=True)]
            yield (*pool.path, "reservations", "ids"), message, fix, related

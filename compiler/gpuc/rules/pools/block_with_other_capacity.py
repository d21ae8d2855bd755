from __future__ import annotations

from gpuc.diagnostics.finding import Related
from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("KRP107", source="aws/karpenter-provider-aws v1.14.1 docs/tasks/odcrs, capacity blocks")
def block_with_other_capacity(cluster: Cluster) -> Findings:
    """A node pool with a capacity block also buys other capacity.

    When the capacity block ends, Karpenter replaces the nodes of the block: with on-demand nodes at the full price, or
    with spot nodes that EC2 can take back with two minutes of notice.
    """
    for pool in cluster.pools:
        if pool.spec.reservations and pool.spec.reservations.block:
            for index, bought in enumerate(pool.spec.purchase):
                if bought != "reserved" and "reserved" in pool.spec.purchase:
                    actual = f"node pool {pool.name} has a capacity block, but also buys {bought} capacity"
                    related = [Related("the capacity block", (*pool.path, "reservations", "block"), on_key=True)]
                    fix = f"set purchase of node pool {pool.name} to [reserved]"
                    yield (*pool.path, "purchase", index), f"{actual}; expected only reserved", fix, related

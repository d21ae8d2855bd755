from __future__ import annotations

from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("KRP107", source="aws/karpenter-provider-aws v1.14.1 docs/tasks/odcrs, capacity blocks")
def block_with_other_capacity(cluster: Cluster) -> Findings:
    """A pool of a capacity block may also buy other capacity.

    On the day that the block ends, Karpenter replaces its nodes by whatever else the pool may buy: at the price of
    on-demand, or lost within minutes as spot.
    """
    for pool in cluster.pools:
        if pool.spec.reservations and pool.spec.reservations.block:
            for index, bought in enumerate(pool.spec.purchase):
                if bought != "reserved" and "reserved" in pool.spec.purchase:
                    message = f"{pool.name} is a capacity block and also buys {bought}; it takes reserved alone"
                    yield (*pool.path, "purchase", index), message, "write [reserved]"

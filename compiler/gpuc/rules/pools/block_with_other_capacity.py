from __future__ import annotations

from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("KRP107", source="aws/karpenter-provider-aws v1.14.1 docs/tasks/odcrs, capacity blocks")
def block_with_other_capacity(cluster: Cluster) -> Findings:
    """A pool with a capacity block may also buy other capacity.

    When the block ends, Karpenter replaces its nodes with the other capacity that the pool may buy: at the on-demand
    price, or on spot nodes that EC2 can take back with two minutes of notice.
    """
    for pool in cluster.pools:
        if pool.spec.reservations and pool.spec.reservations.block:
            for index, bought in enumerate(pool.spec.purchase):
                if bought != "reserved" and "reserved" in pool.spec.purchase:
                    message = f"{pool.name} has a capacity block and also buys {bought}; expected reserved alone"
                    yield (*pool.path, "purchase", index), message, "write [reserved]"

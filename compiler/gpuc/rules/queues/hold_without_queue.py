from __future__ import annotations

from gpuc.diagnostics.finding import Severity
from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("KUE131", Severity.WARNING)
def hold_without_queue(cluster: Cluster) -> Findings:
    """A node pool is on hold, but Kueue does not count its GPUs.

    The field hold sets the quotas of queues to zero. The pods of the node pool use no queue, so new pods still start.
    """
    for pool in cluster.pools:
        if pool.spec.hold and not cluster.queues_of(pool):
            message = f"hold of node pool {pool.name} has no effect, because no queue has quota of the node pool"
            yield (*pool.path, "hold"), message, f"remove hold from node pool {pool.name}"

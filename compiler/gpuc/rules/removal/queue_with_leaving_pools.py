from __future__ import annotations

from gpuc.diagnostics.finding import Severity
from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("REM102", Severity.WARNING)
def queue_with_leaving_pools(cluster: Cluster) -> Findings:
    """All pools of a ClusterQueue are leaving, but its queue is not.

    The ClusterQueue has no quota left. Its LocalQueues still accept workloads, and Kueue never admits them.
    """
    for queue in cluster.queues:
        if queue.spec.leaving:
            continue
        for part in queue.cluster_queues:
            if all(pool.spec.leaving for pool in part.pools):
                names = ", ".join(pool.name for pool in part.pools)
                message = f"{names} is leaving, and ClusterQueue {part.name} has no other pool"
                yield (*part.pools[-1].path, "leaving"), message, f"add a pool to {queue.name}, or mark it as leaving"

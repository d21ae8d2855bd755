from __future__ import annotations

from gpuc.diagnostics.finding import Severity
from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("REM102", Severity.WARNING)
def queue_with_leaving_pools(cluster: Cluster) -> Findings:
    """All node pools of a ClusterQueue are marked as leaving, but its queue is not.

    The ClusterQueue has no quota left. Its LocalQueues still accept workloads, but Kueue never admits these
    workloads.
    """
    for queue in cluster.queues:
        if queue.spec.leaving:
            continue
        for part in queue.cluster_queues:
            if all(pool.spec.leaving for pool in part.pools):
                names = ", ".join(pool.name for pool in part.pools)
                message = f"ClusterQueue {part.name} has only node pools that are marked as leaving: {names}"
                fix = f"mark queue {queue.name} as leaving too, or add a node pool to queue {queue.name}"
                yield (*part.pools[-1].path, "leaving"), message, fix

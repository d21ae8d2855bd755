from __future__ import annotations

from gpuc.diagnostics.finding import Related, Severity
from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("REM102", Severity.WARNING)
def queue_with_leaving_pools(cluster: Cluster) -> Findings:
    """All node pools of a ClusterQueue are marked as leaving, but the queue is not.

    The ClusterQueue has no quota left. Its LocalQueues still accept workloads, but Kueue never admits these workloads.
    """
    for queue in cluster.queues:
        if queue.spec.leaving:
            continue
        for cluster_queue in queue.cluster_queues:
            if all(pool.spec.leaving for pool in cluster_queue.pools):
                names = ", ".join(pool.name for pool in cluster_queue.pools)
                message = f"ClusterQueue {cluster_queue.name} has only node pools that are marked as leaving: {names}"
                fix = f"set leaving of queue {queue.name} to true, or add a node pool to queue {queue.name}"
                related = [Related(f"queue {queue.name}", queue.path, on_key=True)]
                yield (*cluster_queue.pools[-1].path, "leaving"), message, fix, related

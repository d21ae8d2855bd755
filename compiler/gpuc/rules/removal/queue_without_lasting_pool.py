from __future__ import annotations

from gpuc.diagnostics.finding import Severity
from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("REM102", Severity.WARNING)
def queue_without_lasting_pool(cluster: Cluster) -> Findings:
    """A queue stays, and all pools of one of its ClusterQueues leave.

    The ClusterQueue has no quota left. Its LocalQueues still take work, and that work is never admitted.
    """
    for queue in cluster.queues:
        if queue.spec.leaving:
            continue
        for part in queue.cluster_queues:
            if all(pool.spec.leaving for pool in part.pools):
                names = ", ".join(pool.name for pool in part.pools)
                message = f"{names} leaves, and ClusterQueue {part.name} has no other pool"
                yield (*part.pools[-1].path, "leaving"), message, f"add a pool to {queue.name}, or mark it as leaving"

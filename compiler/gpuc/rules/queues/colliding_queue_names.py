from __future__ import annotations

from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("KUE107")
def colliding_queue_names(cluster: Cluster) -> Findings:
    """The ClusterQueue for the general node pools of a queue has the name of another queue.

    gpuc names this ClusterQueue after its queue, with the suffix -cpu. Two objects with the same name would overwrite
    each other.
    """
    names = {queue.name for queue in cluster.queues}
    for queue in cluster.queues:
        for part in queue.cluster_queues:
            if part.name != queue.name and part.name in names:
                general = ", ".join(pool.name for pool in part.pools)
                path = (*part.pool_quotas[0].path, "nodes")
                message = (
                    f"the ClusterQueue of queue {queue.name} for {general} and queue {part.name} have the same name"
                )
                yield path, message, f"rename queue {part.name}"

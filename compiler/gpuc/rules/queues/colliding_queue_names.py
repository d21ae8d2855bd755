from __future__ import annotations

from gpuc.diagnostics.finding import Related
from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("KUE107")
def colliding_queue_names(cluster: Cluster) -> Findings:
    """The ClusterQueue for the general node pools of a queue has the name of another queue.

    gpuc gives this ClusterQueue the name of the queue with the suffix -cpu. Two objects with the same name would
    overwrite each other.
    """
    names = {queue.name for queue in cluster.queues}
    for queue in cluster.queues:
        for cluster_queue in queue.cluster_queues:
            if cluster_queue.name != queue.name and cluster_queue.name in names:
                general = ", ".join(pool.name for pool in cluster_queue.pools)
                path = (*cluster_queue.pool_quotas[0].path, "nodes")
                actual = f"queue {cluster_queue.name} and the ClusterQueue of queue {queue.name} for {general}"
                other = ("spec", "queues", cluster_queue.name)
                related = [Related(f"queue {cluster_queue.name}", other, on_key=True)]
                yield path, f"{actual} have the same name", f"rename queue {cluster_queue.name}", related

from __future__ import annotations

from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("KUE107")
def colliding_queue_names(cluster: Cluster) -> Findings:
    """A queue over general pools gets the name of another queue.

    The part of a queue that covers general pools is called by the queue's name with -cpu behind it. Two objects of one
    name would overwrite one another.
    """
    names = {queue.name for queue in cluster.queues}
    for queue in cluster.queues:
        for part in queue.cluster_queues:
            if part.name != queue.name and part.name in names:
                general = ", ".join(pool.name for pool in part.pools)
                path = (*part.shares[0].path, "nodes")
                yield path, f"{queue.name} over {general} is called {part.name}, as is another queue"

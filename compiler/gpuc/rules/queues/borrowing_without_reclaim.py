from __future__ import annotations

from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("KUE111", source="kubernetes-sigs/kueue v0.19.2 pkg/webhooks/clusterqueue_webhook.go")
def borrowing_without_reclaim(cluster: Cluster) -> Findings:
    """A ClusterQueue has borrowWithinCohort, but its reclaimWithinCohort is Never.

    Kueue's webhook refuses such a ClusterQueue, and the sync fails.
    """
    for queue in cluster.queues:
        preempt = queue.spec.preempt
        if preempt.borrowing != "never" and preempt.reclaim == "never":
            message = f"borrowing is {preempt.borrowing}, but reclaim is never; expected lower-priority or any"
            yield (*queue.path, "preempt", "borrowing"), message

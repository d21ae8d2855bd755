from __future__ import annotations

from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("KUE111", source="kubernetes-sigs/kueue v0.19.2 pkg/webhooks/clusterqueue_webhook.go")
def borrowing_without_reclaim(cluster: Cluster) -> Findings:
    """A queue may preempt while borrowing, but never reclaims its own quota.

    The admission webhook of Kueue refuses the ClusterQueue, and the sync of Argo CD fails.
    """
    for queue in cluster.queues:
        preempt = queue.spec.preempt
        if preempt.borrowing != "never" and preempt.reclaim == "never":
            message = f"preempt.borrowing of queue {queue.name} is {preempt.borrowing}, but preempt.reclaim is never"
            fix = f"set preempt.reclaim of queue {queue.name} to lower-priority or any, or preempt.borrowing to never"
            yield (*queue.path, "preempt", "borrowing"), message, fix

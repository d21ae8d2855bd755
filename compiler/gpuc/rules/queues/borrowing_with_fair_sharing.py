from __future__ import annotations

from gpuc.diagnostics.finding import Related
from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("KUE014", source="kubernetes-sigs/kueue v0.19.2 apis/kueue/v1beta2 borrowWithinCohort")
def borrowing_with_fair_sharing(cluster: Cluster) -> Findings:
    """A queue may preempt while borrowing, but fair sharing is on.

    With fair sharing the weights decide which workloads Kueue preempts. Kueue does not support preemption while
    borrowing together with fair sharing.
    """
    for queue in cluster.queues:
        if cluster.spec.queueing.fair_sharing and queue.spec.preempt.borrowing != "never":
            actual = queue.spec.preempt.borrowing
            message = f"preempt.borrowing of queue {queue.name} is {actual}, but queueing.fairSharing is true"
            yield (
                (*queue.path, "preempt", "borrowing"),
                message,
                f"set preempt.borrowing of queue {queue.name} to never",
                [Related("fair sharing is on", ("spec", "queueing", "fairSharing"))],
            )

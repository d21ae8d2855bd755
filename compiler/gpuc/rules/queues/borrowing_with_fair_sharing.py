from __future__ import annotations

from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("KUE014", source="kubernetes-sigs/kueue v0.19.2 apis/kueue/v1beta2 borrowWithinCohort")
def borrowing_with_fair_sharing(cluster: Cluster) -> Findings:
    """A queue preempts while it borrows, and fair sharing is on.

    With fair sharing the weights decide which workloads are preempted. Preemption by priority for borrowed quota
    contradicts this, so Kueue supports only one of them.
    """
    for queue in cluster.queues:
        if cluster.spec.queueing.fair_sharing and queue.spec.preempt.borrowing != "never":
            message = f"preempt.borrowing is {queue.spec.preempt.borrowing}, but queueing.fairSharing is true"
            yield (*queue.path, "preempt", "borrowing"), message, "write never"

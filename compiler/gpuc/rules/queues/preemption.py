"""The preemption of workloads by queues."""

from __future__ import annotations

from gpuc.diagnostics.finding import Related, Severity
from gpuc.model import Cluster, Queue
from gpuc.rules import Findings, Found, queue_rule, rule


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
            yield Found(
                (*queue.path, "preempt", "borrowing"),
                message,
                f"set preempt.borrowing of queue {queue.name} to never",
                [Related("fair sharing is on", ("spec", "queueing", "fairSharing"))],
            )


@queue_rule("KUE111", source="kubernetes-sigs/kueue v0.19.2 pkg/webhooks/clusterqueue_webhook.go")
def borrowing_without_reclaim(queue: Queue) -> Findings:
    """A queue may preempt while borrowing, but never reclaims its own quota.

    The admission webhook of Kueue refuses the ClusterQueue, and the sync of Argo CD fails.
    """
    preempt = queue.spec.preempt
    if preempt.borrowing != "never" and preempt.reclaim == "never":
        message = f"preempt.borrowing of queue {queue.name} is {preempt.borrowing}, but preempt.reclaim is never"
        fix = f"set preempt.reclaim of queue {queue.name} to lower-priority or any, or preempt.borrowing to never"
        yield Found((*queue.path, "preempt", "borrowing"), message, fix)


@queue_rule("KUE110", Severity.WARNING, source="kubernetes-sigs/kueue v0.19.2 docs/concepts/preemption.md")
def preemption_without_cohort(queue: Queue) -> Findings:
    """A queue without a cohort may preempt workloads of other queues.

    Kueue preempts workloads of other queues only in the same cohort, so the setting has no effect.
    """
    preempt = queue.spec.preempt
    for key, setting in (("reclaim", preempt.reclaim), ("borrowing", preempt.borrowing)):
        if queue.spec.cohort is None and setting != "never":
            message = f"preempt.{key} of queue {queue.name} is {setting}, but queue {queue.name} has no cohort"
            yield Found((*queue.path, "preempt", key), message, f"set preempt.{key} of queue {queue.name} to never")


@rule("KUE109", Severity.WARNING, source="kubernetes-sigs/kueue v0.19.2 docs/concepts/preemption.md")
def preemption_without_priorities(cluster: Cluster) -> Findings:
    """A queue may preempt workloads of lower priority, but the spec has no priorities.

    All workloads have the same priority, so Kueue preempts none of them.
    """
    if cluster.spec.priorities:
        return
    for queue in cluster.queues:
        preempt = queue.spec.preempt
        settings = {"withinQueue": preempt.within_queue, "reclaim": preempt.reclaim, "borrowing": preempt.borrowing}
        for key, setting in settings.items():
            if setting == "lower-priority":
                message = f"preempt.{key} of queue {queue.name} is lower-priority, but the spec has no priorities"
                yield Found((*queue.path, "preempt", key), message)

from __future__ import annotations

from gpuc.diagnostics.finding import Severity
from gpuc.model import Cluster
from gpuc.rules import Findings, rule


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
                yield (*queue.path, "preempt", key), message

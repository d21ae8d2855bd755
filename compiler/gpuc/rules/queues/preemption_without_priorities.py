from __future__ import annotations

from gpuc.diagnostics.finding import Severity
from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("KUE109", Severity.WARNING, source="kubernetes-sigs/kueue v0.19.2 docs/concepts/preemption.md")
def preemption_without_priorities(cluster: Cluster) -> Findings:
    """Work of lower priority shall give way, but there are no priorities.

    All work then has the same priority, and nothing ever gives way.
    """
    if cluster.spec.priorities:
        return
    for queue in cluster.queues:
        preempt = queue.spec.preempt
        wishes = {"withinQueue": preempt.within_queue, "reclaim": preempt.reclaim, "borrowing": preempt.borrowing}
        for key, wish in wishes.items():
            if wish == "lower-priority":
                yield (*queue.path, "preempt", key), f"{key} is lower-priority, but the spec has no priorities"

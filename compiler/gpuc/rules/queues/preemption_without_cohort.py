from __future__ import annotations

from gpuc.diagnostics.finding import Severity
from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("KUE110", Severity.WARNING, source="kubernetes-sigs/kueue v0.19.2 docs/concepts/preemption.md")
def preemption_without_cohort(cluster: Cluster) -> Findings:
    """A queue without a cohort may preempt workloads of other queues.

    Kueue preempts workloads of other queues only in the same cohort, so the setting has no effect.
    """
    for queue in cluster.queues:
        preempt = queue.spec.preempt
        for key, setting in (("reclaim", preempt.reclaim), ("borrowing", preempt.borrowing)):
            if queue.spec.cohort is None and setting != "never":
                message = f"preempt.{key} of queue {queue.name} is {setting}, but queue {queue.name} has no cohort"
                yield (*queue.path, "preempt", key), message, f"set preempt.{key} of queue {queue.name} to never"

from __future__ import annotations

from gpuc.diagnostics.finding import Severity
from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("KUE110", Severity.WARNING, source="kubernetes-sigs/kueue v0.19.2 docs/concepts/preemption.md")
def preemption_without_cohort(cluster: Cluster) -> Findings:
    """A queue without a cohort wants others to give way.

    It lent nothing and borrows nothing, so there is nobody to give way.
    """
    for queue in cluster.queues:
        preempt = queue.spec.preempt
        for key, wish in (("reclaim", preempt.reclaim), ("borrowing", preempt.borrowing)):
            if queue.spec.cohort is None and wish != "never":
                yield (*queue.path, "preempt", key), f"{key} is {wish}, but {queue.name} has no cohort", "write never"

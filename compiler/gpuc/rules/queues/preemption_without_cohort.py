from __future__ import annotations

from gpuc.diagnostics.finding import Severity
from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("KUE110", Severity.WARNING, source="kubernetes-sigs/kueue v0.19.2 docs/concepts/preemption.md")
def preemption_without_cohort(cluster: Cluster) -> Findings:
    """A queue without a cohort preempts workloads of other queues.

    The queue lends nothing and borrows nothing, so there is no workload to preempt.
    """
    for queue in cluster.queues:
        preempt = queue.spec.preempt
        for key, setting in (("reclaim", preempt.reclaim), ("borrowing", preempt.borrowing)):
            if queue.spec.cohort is None and setting != "never":
                message = f"{key} is {setting}, but {queue.name} has no cohort"
                yield (*queue.path, "preempt", key), message, "write never"

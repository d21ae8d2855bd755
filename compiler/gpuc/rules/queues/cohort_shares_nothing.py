from __future__ import annotations

from gpuc.diagnostics.finding import Severity
from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule(
    "QTA009",
    Severity.WARNING,
    source="kubernetes-sigs/kueue v0.19.2 pkg/cache/scheduler/resource_node.go (potentialAvailable)",
)
def cohort_shares_nothing(cluster: Cluster) -> Findings:
    """The queues of a cohort cannot borrow from one another.

    No queue lends quota that another queue may borrow. The cohort has no effect.
    """
    for cohort in cluster.cohorts:
        if cohort.spec.parent is not None or len(cohort.queues) < 2:
            continue  # a tree of cohorts is reported at its root; KUE105 reports a cohort with one queue
        shares = [(queue, share) for queue in cohort.queues for share in queue.shares]
        is_closing = any(queue.spec.leaving or share.pool.spec.leaving for queue, share in shares)
        if not is_closing and all(cluster.ceiling(queue, share) == share.nominal for queue, share in shares):
            names = ", ".join(sorted(queue.name for queue in cohort.queues))
            yield cohort.path, f"the queues of cohort {cohort.name} cannot borrow from one another: {names}"

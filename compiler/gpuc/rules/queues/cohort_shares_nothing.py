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
        pool_quotas = [(queue, pool_quota) for queue in cohort.queues for pool_quota in queue.pool_quotas]
        is_closing = any(queue.spec.leaving or pool_quota.pool.spec.leaving for queue, pool_quota in pool_quotas)
        if not is_closing and all(
            cluster.ceiling(queue, pool_quota) == pool_quota.nominal for queue, pool_quota in pool_quotas
        ):
            names = ", ".join(sorted(queue.name for queue in cohort.queues))
            yield cohort.path, f"the queues of cohort {cohort.name} cannot borrow from one another: {names}"

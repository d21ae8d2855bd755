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

    No queue lends quota that another queue of the cohort may borrow. The cohort has no effect.
    """
    for cohort in cluster.cohorts:
        if cohort.spec.parent is not None or len(cohort.queues) < 2:
            continue  # the finding is at the root of nested cohorts; KUE105 reports a cohort with one queue
        quotas = [(queue, pool_quota) for queue in cohort.queues for pool_quota in queue.pool_quotas]
        has_leaving = any(queue.spec.leaving or pool_quota.pool.spec.leaving for queue, pool_quota in quotas)
        if not has_leaving and all(cluster.ceiling(queue, quota) == quota.nominal for queue, quota in quotas):
            names = ", ".join(sorted(queue.name for queue in cohort.queues))
            yield cohort.path, f"the queues of cohort {cohort.name} cannot borrow from one another: {names}"

from __future__ import annotations

from gpuc.diagnostics.finding import Severity
from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("KUE106", Severity.WARNING, source="kubernetes-sigs/kueue v0.19.2 docs/concepts/cohort.md")
def lends_without_cohort(cluster: Cluster) -> Findings:
    """A queue without a cohort has a lending limit.

    No queue can borrow from it, so its idle nodes stay idle.
    """
    for queue in cluster.queues:
        for pool, quota in queue.spec.quota.items():
            if queue.spec.cohort is None and "lend" in quota.model_fields_set and quota.lend != 0:
                path = (*queue.path, "quota", pool, "lend")
                yield path, f"{queue.name} lends quota of {pool}, but has no cohort", "name a cohort, or remove lend"

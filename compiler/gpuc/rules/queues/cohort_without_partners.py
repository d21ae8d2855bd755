from __future__ import annotations

from gpuc.diagnostics.finding import Severity
from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("KUE105", Severity.WARNING, source="kubernetes-sigs/kueue v0.19.2 docs/concepts/cohort.md")
def cohort_without_partners(cluster: Cluster) -> Findings:
    """A cohort has fewer than two queues.

    The queue has no partner for lending. Perhaps the cohort of the other queue has a different spelling.
    """
    for cohort in cluster.cohorts:
        if len(cohort.queues) < 2:
            members = f"only the queue {cohort.queues[0].name}" if cohort.queues else "no queue"
            yield cohort.path, f"cohort {cohort.name} has {members}; lending needs two"

from __future__ import annotations

from gpuc.diagnostics.finding import Severity
from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("KUE105", Severity.WARNING, source="kubernetes-sigs/kueue v0.19.2 docs/concepts/cohort.md")
def cohort_without_partners(cluster: Cluster) -> Findings:
    """A cohort has fewer than two queues.

    A queue borrows from other queues of its cohort. The name of the cohort may be misspelled in another queue.
    """
    for cohort in cluster.cohorts:
        if len(cohort.queues) < 2:
            members = f"only queue {cohort.queues[0].name}" if cohort.queues else "no queues"
            yield cohort.path, f"cohort {cohort.name} has {members}; expected two or more queues"

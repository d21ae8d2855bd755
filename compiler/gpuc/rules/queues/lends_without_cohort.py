from __future__ import annotations

from gpuc.diagnostics.finding import Severity
from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("KUE106", Severity.WARNING, source="kubernetes-sigs/kueue v0.19.2 docs/concepts/cohort.md")
def lends_without_cohort(cluster: Cluster) -> Findings:
    """A queue without a cohort has a lending limit.

    Queues lend quota only to queues of the same cohort, so the lending limit has no effect.
    """
    for queue in cluster.queues:
        for pool, quota in queue.spec.quota.items():
            if queue.spec.cohort is None and "lend" in quota.model_fields_set and quota.lend != 0:
                path = (*queue.path, "quota", pool, "lend")
                message = f"queue {queue.name} lends quota of node pool {pool}, but has no cohort"
                yield path, message, f"set cohort of queue {queue.name}, or remove lend for node pool {pool}"

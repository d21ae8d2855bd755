from __future__ import annotations

from gpuc.diagnostics.finding import Severity
from gpuc.model import Cluster
from gpuc.model.queue import Queue
from gpuc.rules import Findings, rule
from gpuc.rules.queues._weights import weights


@rule(
    "KUE119",
    Severity.WARNING,
    source="kubernetes-sigs/kueue v0.19.2 pkg/cache/scheduler/fair_sharing.go (dominantResourceShare)",
)
def weight_without_parent(cluster: Cluster) -> Findings:
    """A queue without a cohort, or a cohort without a parent, has a weight.

    Kueue compares the weights of the queues and cohorts below one parent. Without a parent there is nothing to borrow,
    and the weight has no effect: it divides nothing between two cohorts.
    """
    for element, words in weights(cluster) if cluster.spec.queueing.fair_sharing else ():
        key = "cohort" if isinstance(element, Queue) else "parent"
        if getattr(element.spec, key) is None:
            message = f"{words}, but it has no {key}, so that the weight has no effect"
            yield (*element.path, "weight"), message, f"remove weight, or add {key}"

"""The weights of queues and cohorts in fair sharing."""

from __future__ import annotations

from collections.abc import Iterator

from gpuc.diagnostics.finding import Severity
from gpuc.model import Cluster
from gpuc.model.queue import Cohort, Queue
from gpuc.rules import Findings, Found, rule


def weights(cluster: Cluster) -> Iterator[tuple[Queue | Cohort, str]]:
    """Yields the queues and cohorts for which the spec sets a weight, each with words for its message."""
    elements: tuple[Queue | Cohort, ...] = (*cluster.queues, *cluster.cohorts)
    for element in elements:
        if "weight" in element.spec.model_fields_set:
            kind = str(element.path[-2]).removesuffix("s")
            yield element, f"weight of {kind} {element.name} is {element.spec.weight}"


@rule("KUE112", Severity.WARNING)
def weight_without_fair_sharing(cluster: Cluster) -> Findings:
    """A queue or cohort has a weight, but fair sharing is off.

    Without fair sharing Kueue ignores weights, and idle quota goes to the first workload that requests quota.
    """
    for element, words in weights(cluster) if not cluster.spec.queueing.fair_sharing else ():
        message = f"{words}, but queueing.fairSharing is false"
        yield Found((*element.path, "weight"), message, "set queueing.fairSharing to true, or remove weight")


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
            yield Found((*element.path, "weight"), message, f"remove weight, or add {key}")

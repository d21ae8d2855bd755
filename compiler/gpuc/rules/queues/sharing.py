"""Rules about the ways in which queues share idle quota: the weights of fair sharing, and preemption."""

from collections.abc import Iterator

from gpuc.diagnostics.finding import Related, Severity
from gpuc.model import Cluster, Queue
from gpuc.model.queue import Cohort
from gpuc.rules import Findings, Found, queue_rule, rule


def weights(cluster: Cluster) -> Iterator[tuple[Queue | Cohort, str]]:
    """Yields the queues and cohorts whose weight the spec sets, each with the start of a message about the weight."""
    elements: tuple[Queue | Cohort, ...] = (*cluster.queues, *cluster.cohorts)
    for element in elements:
        if "weight" in element.spec.model_fields_set:
            kind = str(element.path[-2]).removesuffix("s")
            yield element, f"weight of {kind} {element.name} is {element.spec.weight}"


@rule("KUE112", Severity.WARNING)
def weight_without_fair_sharing(cluster: Cluster) -> Findings:
    """A queue or cohort has a weight, but fair sharing is off."""
    for element, words in weights(cluster) if not cluster.spec.queueing.fair_sharing else ():
        message = f"{words}, but queueing.fairSharing is false"
        yield Found((*element.path, "weight"), message, "set queueing.fairSharing to true, or remove weight")


@rule("KUE119", Severity.WARNING)
def weight_without_parent(cluster: Cluster) -> Findings:
    """A queue has a weight but no cohort, or a cohort has a weight but no parent."""
    for element, words in weights(cluster) if cluster.spec.queueing.fair_sharing else ():
        key = "cohort" if isinstance(element, Queue) else "parent"
        if getattr(element.spec, key) is None:
            message = f"{words}, but it has no {key}, so that the weight has no effect"
            yield Found((*element.path, "weight"), message, f"remove weight, or add {key}")


@rule("KUE014")
def borrowing_with_fair_sharing(cluster: Cluster) -> Findings:
    """`preempt.borrowing` of a queue allows preemption while the queue borrows, but fair sharing is on."""
    related = [Related("fair sharing is on", ("spec", "queueing", "fairSharing"))]
    for queue in cluster.queues:
        actual = queue.spec.preempt.borrowing
        if cluster.spec.queueing.fair_sharing and actual != "never":
            message = f"preempt.borrowing of queue {queue.name} is {actual}, but queueing.fairSharing is true"
            fix = f"set preempt.borrowing of queue {queue.name} to never"
            yield Found((*queue.path, "preempt", "borrowing"), message, fix, related)


@queue_rule("KUE111")
def borrowing_without_reclaim(queue: Queue) -> Findings:
    """A queue may preempt workloads while it borrows quota, but may not preempt to reclaim its own quota."""
    preempt = queue.spec.preempt
    if preempt.borrowing != "never" and preempt.reclaim == "never":
        message = f"preempt.borrowing of queue {queue.name} is {preempt.borrowing}, but preempt.reclaim is never"
        fix = f"set preempt.reclaim of queue {queue.name} to lower-priority or any, or preempt.borrowing to never"
        yield Found((*queue.path, "preempt", "borrowing"), message, fix)


@queue_rule("KUE110", Severity.WARNING)
def preemption_without_cohort(queue: Queue) -> Findings:
    """A queue without a cohort may preempt workloads of other queues."""
    preempt = queue.spec.preempt
    for key, setting in (("reclaim", preempt.reclaim), ("borrowing", preempt.borrowing)):
        if queue.spec.cohort is None and setting != "never":
            message = f"preempt.{key} of queue {queue.name} is {setting}, but queue {queue.name} has no cohort"
            yield Found((*queue.path, "preempt", key), message, f"set preempt.{key} of queue {queue.name} to never")


@rule("KUE109", Severity.WARNING)
def preemption_without_priorities(cluster: Cluster) -> Findings:
    """A queue may preempt workloads of lower priority, but the spec has no priorities."""
    if cluster.spec.priorities:
        return
    for queue in cluster.queues:
        preempt = queue.spec.preempt
        settings = {"withinQueue": preempt.within_queue, "reclaim": preempt.reclaim, "borrowing": preempt.borrowing}
        for key, setting in settings.items():
            if setting == "lower-priority":
                message = f"preempt.{key} of queue {queue.name} is lower-priority, but the spec has no priorities"
                yield Found((*queue.path, "preempt", key), message)

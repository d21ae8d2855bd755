"""Mutations of what Kueue reads: queues, priorities, topologies and elastic Jobs."""

from collections.abc import Callable
from typing import Any

from gpuc.kubernetes.kueue import LEVEL_LABELS, QUEUE_LABEL, REQUIRED_TOPOLOGY
from tests.conformance.workload_drafts import Draft, Mutation


def queue_labels(draft: Draft, labels: dict[str, str | None]) -> bool:
    """Sets labels of a draft with a queue, beside the queue; None removes a label."""
    found = draft.queue_labels
    for name, value in labels.items() if found is not None else ():
        found.pop(name, None)
        if value is not None:
            found[name] = value
    return found is not None


def relabelled(draft: Draft, names: tuple[str, str]) -> bool:
    """Gives another key to a label of a draft with a queue."""
    labels, (old, new) = draft.queue_labels, names
    if labels is None or old not in labels:
        return False
    labels[new] = labels.pop(old)
    return True


def topology(draft: Draft, levels: dict[str, str]) -> bool:
    """Adds annotations to the pods of a draft with a queue."""
    for key, level in levels.items() if draft.target.queue else ():
        draft.describe("annotations", key, level)
    return bool(draft.target.queue)


def job_annotations(draft: Draft, annotations: dict[str, str]) -> bool:
    """Adds annotations to a Job with a queue."""
    is_suitable = draft.kind == "Job" and bool(draft.target.queue)
    for key, value in annotations.items() if is_suitable else ():
        draft.describe("annotations", key, value, draft.document)
    return is_suitable


def _random_queue(names: Callable[[Draft], list[str]]) -> Mutation:
    def mutate(draft: Draft) -> bool:
        known = names(draft)
        return bool(known) and queue_labels(draft, {QUEUE_LABEL: draft.random.choice(known)})

    return mutate


def _foreign_queues(draft: Draft) -> list[str]:
    own = set(draft.target.namespace.local_queues)
    return [name for _, namespace in draft.cluster.namespaces for name in namespace.local_queues if name not in own]


def _other_queues(draft: Draft) -> list[str]:
    """Returns the other queues of the namespace, for example the queue of the general pools."""
    return [name for name in draft.target.namespace.local_queues if name != draft.target.queue]


def _added_queue(draft: Draft) -> bool:
    """Adds the label of a queue to a workload without a queue."""
    names = [*draft.target.namespace.local_queues, "default"]
    if draft.queue_labels is not None:
        return False
    draft.describe("labels", QUEUE_LABEL, draft.random.choice(names), draft.document)
    return True


def _queue_as_annotation(draft: Draft) -> bool:
    if not queue_labels(draft, {QUEUE_LABEL: None}):
        return False
    draft.describe("annotations", QUEUE_LABEL, draft.target.queue, draft.document)
    return True


def _block_without_topology(draft: Draft) -> bool:
    return not draft.target.pool.level_labels and topology(draft, {REQUIRED_TOPOLOGY: LEVEL_LABELS["block"]})


def _one_block_for_many(draft: Draft) -> bool:
    """Requires one block for more pods than a block has nodes."""
    if not draft.target.pool.level_labels or draft.kind != "Job":
        return False
    draft.spec.update(parallelism=12, completions=12)
    return topology(draft, {REQUIRED_TOPOLOGY: draft.target.pool.level_labels.get("block", LEVEL_LABELS["block"])})


def _early_replacement(draft: Draft) -> bool:
    """Lets Kubernetes replace a deleted pod before it has ended. A podFailurePolicy does not allow that."""
    if draft.job is None:
        return False
    draft.job.pop("podFailurePolicy", None)
    draft.job["podReplacementPolicy"] = "TerminatingOrFailed"
    return True


CHANGES: dict[str, Callable[[Draft, Any], bool]] = {
    "queue labels": queue_labels,
    "relabelled": relabelled,
    "topology": topology,
    "job annotations": job_annotations,
}
QUEUE: dict[str, Mutation] = {
    "queue of another namespace": _random_queue(_foreign_queues),
    "another queue of the namespace": _random_queue(_other_queues),
    "queue name with a capital": lambda d: queue_labels(d, {QUEUE_LABEL: d.target.queue.title()}),
    "queue as an annotation": _queue_as_annotation,
    "queue of a service without Kueue": _added_queue,
    "topology of a queue without a topology": _block_without_topology,
    "one block for twelve nodes": _one_block_for_many,
    "replacement of pods that still run": _early_replacement,
}
"""Mutations by name."""

"""Mutations of what Kueue reads: queues, priorities, topologies and elastic Jobs."""

from __future__ import annotations

from gpuc.kubernetes.kueue import LEVEL_LABELS, PRIORITY_LABEL, QUEUE_LABEL, REQUIRED_TOPOLOGY
from tests.conformance.workload_drafts import Draft, Mutation


def _queue(draft: Draft, name: str | None) -> bool:
    """Sets the queue, or removes the label for None. Returns whether the draft has a queue."""
    labels = draft.queue_labels
    if labels is None:
        return False
    labels.pop(QUEUE_LABEL)
    if name is not None:
        labels[QUEUE_LABEL] = name
    return True


def _foreign_queue(draft: Draft) -> bool:
    own = set(draft.target.namespace.local_queues)
    names = [name for _, namespace in draft.cluster.namespaces for name in namespace.local_queues if name not in own]
    return bool(names) and _queue(draft, draft.random.choice(names))


def _other_queue(draft: Draft) -> bool:
    """Sets another queue of the namespace, for example the queue of the general pools."""
    names = [name for name in draft.target.namespace.local_queues if name != draft.target.queue]
    return bool(names) and _queue(draft, draft.random.choice(names))


def _relabelled(draft: Draft, old: str, new: str) -> bool:
    labels = draft.queue_labels
    if labels is None or old not in labels:
        return False
    labels[new] = labels.pop(old)
    return True


def _priority(draft: Draft, name: str) -> bool:
    labels = draft.queue_labels
    if labels is None:
        return False
    labels[PRIORITY_LABEL] = name
    return True


def _added_queue(draft: Draft) -> bool:
    """Adds the label of a queue to a workload without a queue."""
    names = [*draft.target.namespace.local_queues, "default"]
    if draft.queue_labels is not None:
        return False
    draft.document["metadata"].setdefault("labels", {})[QUEUE_LABEL] = draft.random.choice(names)
    return True


def _queue_as_annotation(draft: Draft) -> bool:
    if not _queue(draft, None):
        return False
    draft.document["metadata"].setdefault("annotations", {})[QUEUE_LABEL] = draft.target.queue
    return True


def _topology(draft: Draft, key: str, level: str) -> bool:
    if not draft.target.queue:
        return False
    draft.annotate(key, level)
    return True


def _block_without_topology(draft: Draft) -> bool:
    return not draft.target.pool.level_labels and _topology(draft, REQUIRED_TOPOLOGY, LEVEL_LABELS["block"])


def _one_block_for_many(draft: Draft) -> bool:
    """Requires one block for more pods than a block has nodes."""
    if not draft.target.pool.level_labels or draft.kind != "Job":
        return False
    draft.spec.update(parallelism=12, completions=12)
    label = draft.target.pool.level_labels.get("block", LEVEL_LABELS["block"])
    return _topology(draft, REQUIRED_TOPOLOGY, label)


def _min_parallelism(draft: Draft, value: str) -> bool:
    if draft.kind != "Job" or not draft.target.queue:
        return False
    draft.document["metadata"].setdefault("annotations", {})["kueue.x-k8s.io/job-min-parallelism"] = value
    return True


def _elastic(draft: Draft) -> bool:
    if draft.kind != "Job" or not draft.target.queue:
        return False
    draft.document["metadata"].setdefault("annotations", {})["kueue.x-k8s.io/elastic-job"] = "true"
    return True


def _early_replacement(draft: Draft) -> bool:
    """Lets Kubernetes replace a deleted pod before it has ended. A podFailurePolicy does not allow that."""
    if draft.job is None:
        return False
    draft.job.pop("podFailurePolicy", None)
    draft.job["podReplacementPolicy"] = "TerminatingOrFailed"
    return True


QUEUE: dict[str, Mutation] = {
    "unknown queue": lambda d: _queue(d, "absent"),
    "queue of another namespace": _foreign_queue,
    "another queue of the namespace": _other_queue,
    "no queue": lambda d: _queue(d, None),
    "empty queue": lambda d: _queue(d, ""),
    "queue name with a capital": lambda d: _queue(d, d.target.queue.title()),
    "misspelled queue label": lambda d: _relabelled(d, QUEUE_LABEL, "kueue.x-k8s.io/queue"),
    "queue as an annotation": _queue_as_annotation,
    "queue of a service without Kueue": _added_queue,
    "unknown priority class": lambda d: _priority(d, "urgent"),
    "misspelled priority label": lambda d: _relabelled(d, PRIORITY_LABEL, "kueue.x-k8s.io/priority"),
    "topology of a queue without a topology": _block_without_topology,
    "unknown topology level": lambda d: _topology(d, REQUIRED_TOPOLOGY, "example.com/rack"),
    "topology host": lambda d: _topology(d, REQUIRED_TOPOLOGY, "kubernetes.io/hostname"),
    "one block for twelve nodes": _one_block_for_many,
    "required and preferred topology": lambda d: (
        _topology(d, REQUIRED_TOPOLOGY, LEVEL_LABELS["block"])
        and _topology(d, "kueue.x-k8s.io/podset-preferred-topology", LEVEL_LABELS["block"])
    ),
    "min parallelism 1": lambda d: _min_parallelism(d, "1"),
    "min parallelism as text": lambda d: _min_parallelism(d, "one"),
    "min parallelism above parallelism": lambda d: _min_parallelism(d, "9"),
    "elastic Job": _elastic,
    "replacement of pods that still run": _early_replacement,
}
"""Mutations by name."""

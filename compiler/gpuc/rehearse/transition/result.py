"""The result of a transition: what happened to each node, workload, object and queue, and by which program."""

from __future__ import annotations

from dataclasses import dataclass, field

UNCHANGED = ("kept", "applied", "active")
"""Outcomes that no report lists one by one."""


@dataclass(frozen=True, slots=True)
class NodeOutcome:
    """What happened to a node that ran before the change."""

    name: str
    pool: str
    outcome: str
    """kept, drained (a new node replaces it), removed, or waiting (drifted, but not yet replaced)."""
    by: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class WorkloadOutcome:
    """What happened to a workload that ran before the change."""

    namespace: str
    kind: str
    name: str
    queue: str
    """The queue of the spec; empty for a workload that a ResourceQuota counts."""
    pool: str
    outcome: str
    """kept, drained (a pod was evicted from its node), evicted, requeued (evicted and admitted again), refused (the
    same object would be refused now) or waiting (the same object would be pending now)."""
    by: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True)
class ObjectOutcome:
    """What happened to an object that the change writes or removes."""

    kind: str
    namespace: str
    name: str
    outcome: str
    """applied, refused, pruned or left (removed from Git, but still in the cluster)."""
    message: str = ""

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind} {self.name}"


@dataclass(frozen=True, slots=True)
class QueueOutcome:
    """The state of a ClusterQueue or of a LocalQueue after the change."""

    kind: str
    namespace: str
    name: str
    outcome: str
    """active, inactive or gone."""
    message: str = ""
    workloads: int = 0
    """Number of unfinished Workloads in the queue."""


@dataclass
class Observed:
    """What happened after a change."""

    nodes: list[NodeOutcome] = field(default_factory=list)
    workloads: list[WorkloadOutcome] = field(default_factory=list)
    objects: list[ObjectOutcome] = field(default_factory=list)
    queues: list[QueueOutcome] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)
    """Duration by step."""


@dataclass(kw_only=True)
class TransitionResult(Observed):
    """The result of a transition of one cluster."""

    cluster: str
    file: str
    before: str
    """The state before: a revision or a folder."""
    notes: tuple[str, ...] = ()
    """Sentences about simulated parts, caps of the work, and workloads that did not start before the change."""
    kubeconfig: str = ""

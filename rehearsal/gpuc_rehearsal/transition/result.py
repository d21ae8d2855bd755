"""The result of `gpuc rehearse --from`, and its report: what happened to nodes, workloads, objects and queues."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeVar

from msgspec import Struct, field, to_builtins
from msgspec.structs import astuple

from gpuc.diagnostics.report.document import Block, Heading, Table, section
from gpuc.diagnostics.words import counted
from gpuc_rehearsal.layout import Report

UNCHANGED = ("kept", "applied", "active")
"""Outcomes that no report lists one by one."""
_LONGEST_CELL = 160
_LONGEST_REASON = 500
"""The maximum length of the reason of a node.

An autoscaler names a reason for each NodePool, and the reason of the node's own pool is not the first.
"""


class NodeOutcome(Struct, frozen=True):
    """What happened to a node that ran before the change: kept, drained, removed or waiting."""

    name: str
    pool: str
    outcome: str
    """kept, drained (a new node replaces it), removed, or waiting (drifted, but not yet replaced)."""
    by: str = ""
    reason: str = ""


class WorkloadOutcome(Struct, frozen=True):
    """What happened to a workload that ran before the change, for example kept or evicted."""

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


class ObjectOutcome(Struct, frozen=True):
    """What happened to an object that the change writes or removes: applied, refused, pruned or left."""

    kind: str
    namespace: str
    name: str
    outcome: str
    """applied, refused, pruned or left (removed from Git, but still in the cluster)."""
    message: str = ""


class QueueOutcome(Struct, frozen=True):
    """The state of a ClusterQueue or a LocalQueue after the change: active, inactive or gone."""

    kind: str
    namespace: str
    name: str
    outcome: str
    """active, inactive or gone."""
    message: str = ""
    workloads: int = 0
    """Number of unfinished Workloads in the queue."""


class Observed(Struct):
    """What `gpuc rehearse --from` observes after a change: the outcomes of nodes, workloads, objects and queues."""

    nodes: list[NodeOutcome] = field(default_factory=list)
    workloads: list[WorkloadOutcome] = field(default_factory=list)
    objects: list[ObjectOutcome] = field(default_factory=list)
    queues: list[QueueOutcome] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)
    """Duration by step."""


class TransitionResult(Observed, kw_only=True):
    """The result of `gpuc rehearse --from` for one cluster."""

    cluster: str
    file: str
    before: str
    """The state before: a revision or a folder."""
    notes: tuple[str, ...] = ()
    """Sentences about simulated parts, caps of the work, and workloads that did not start before the change."""
    kubeconfig: str = ""


T = TypeVar("T", NodeOutcome, WorkloadOutcome, ObjectOutcome, QueueOutcome)


def summary(result: TransitionResult) -> str:
    """Returns the result in one line: the numbers of nodes, workloads and objects by outcome."""
    parts = [_counted("node", result.nodes), _counted("workload", result.workloads), _counted("object", result.objects)]
    return f"{result.cluster}: {'; '.join(parts)}; {sum(result.seconds.values()):.0f} s"


def _counted(noun: str, rows: Sequence[T]) -> str:
    counts = Counter(row.outcome for row in rows)
    return counted(len(rows), noun) + "".join(f", {count} {outcome}" for outcome, count in sorted(counts.items()))


def _blocks(result: TransitionResult) -> Iterator[Block]:
    """Yields a table for each kind of outcome, without tables and rows of unchanged things, and the notes."""
    objects = [row for row in result.objects if row.message or row.outcome not in UNCHANGED]
    tables: dict[str, list[tuple[str, ...]]] = {
        "Nodes: node pool outcome by reason": [astuple(row) for row in _listed(result.nodes)],
        "Workloads: workload queue pool outcome by message": [
            (name_of(row), row.queue, row.pool, row.outcome, row.by, row.message) for row in _listed(result.workloads)
        ],
        "Objects: object outcome message": [(name_of(row), row.outcome, row.message) for row in objects],
        "Queues: queue state workloads message": [
            (name_of(row), row.outcome, str(row.workloads), row.message) for row in _listed(result.queues)
        ],
    }
    for heading, rows in tables.items():
        title, _, columns = heading.partition(":")
        longest = _LONGEST_REASON if title == "Nodes" else _LONGEST_CELL
        if rows:
            yield from ("", Heading(title, 3), Table([tuple(columns.split()), *rows], longest=longest))
    yield from section("Simulated or left out", result.notes)


def name_of(row: WorkloadOutcome | ObjectOutcome | QueueOutcome) -> str:
    """Returns the name of an object in the result as "Kind namespace/name"."""
    return f"{row.kind} {row.namespace}/{row.name}" if row.namespace else f"{row.kind} {row.name}"


def _listed(outcomes: Iterable[T]) -> list[T]:
    return [row for row in outcomes if row.outcome not in UNCHANGED]


def _data(result: TransitionResult) -> dict[str, Any]:
    return {key: value for key, value in to_builtins(result).items() if key != "kubeconfig"}


_TITLE = "Transition of {0.cluster} ({0.file}), from {0.before}"
REPORT = Report("clusters", 1, _TITLE.format, _blocks, summary, _data)

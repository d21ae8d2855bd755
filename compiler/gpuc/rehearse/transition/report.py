"""Reports of transitions: what a change did to nodes, work, objects and queues."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from typing import Any, TypeVar

from gpuc.diagnostics.report.terminal import Paint, visible
from gpuc.rehearse import layout
from gpuc.rehearse.transition.result import (
    UNCHANGED,
    NodeOutcome,
    ObjectOutcome,
    QueueOutcome,
    TransitionResult,
    WorkloadOutcome,
)

_LENGTH = 160
_REASON_LENGTH = 500
"""Of the reason of a node: Karpenter names one reason for each NodePool, and that of the node is not the first."""
_NODES = ("node", "pool", "outcome", "by", "reason")
_WORKLOADS = ("workload", "queue", "pool", "outcome", "by", "message")
_OBJECTS = ("object", "outcome", "message")
_QUEUES = ("queue", "state", "workloads", "message")
Rows = Sequence[tuple[str, ...]]
T = TypeVar("T", NodeOutcome, WorkloadOutcome, ObjectOutcome, QueueOutcome)


def summary(result: TransitionResult) -> str:
    """Returns the result in one line."""
    parts = [
        f"{_counted('nodes', (node.outcome for node in result.nodes))}",
        f"{_counted('workloads', (workload.outcome for workload in result.workloads))}",
        f"{_counted('objects', (changed.outcome for changed in result.objects))}",
    ]
    return f"{result.cluster}: {'; '.join(parts)}; {sum(result.seconds.values()):.0f} s"


def _counted(name: str, outcomes: Iterable[str]) -> str:
    counts = Counter(outcomes)
    total = sum(counts.values())
    noun = name.removesuffix("s") if total == 1 else name
    return f"{total} {noun}" + "".join(f", {count} {outcome}" for outcome, count in sorted(counts.items()))


def _text(result: TransitionResult, paint: Paint) -> str:
    lines = [paint("1", f"{result.cluster} ({result.file}), from {visible(result.before)}")]
    for title, headings, rows in _tables(result):
        length = _REASON_LENGTH if headings is _NODES else _LENGTH
        short = [tuple(layout.shortened(cell, length) for cell in row) for row in rows]
        lines += ["", paint("1", title), *layout.columns([headings, *short])]
    return layout.text_report(lines, _sections(result), result.seconds, summary(result))


def _markdown(result: TransitionResult) -> str:
    lines = [f"## Transition of {result.cluster}", "", summary(result)]
    for title, headings, rows in _tables(result):
        lines += ["", f"### {title}", "", *layout.table(headings, rows)]
    return layout.markdown_report(lines, _sections(result))


def _tables(result: TransitionResult) -> Iterator[tuple[str, tuple[str, ...], Rows]]:
    """Yields the title, the headings and the rows of each table, without tables and rows of unchanged things."""
    nodes = [(row.name, row.pool, row.outcome, row.by, row.reason) for row in _listed(result.nodes)]
    workloads = [
        (f"{row.kind} {row.namespace}/{row.name}", row.queue, row.pool, row.outcome, row.by, row.message)
        for row in _listed(result.workloads)
    ]
    listed = _listed(result.objects)
    objects = [(str(row), row.outcome, row.message) for row in result.objects if row in listed or row.message]
    queues = [
        (" ".join((row.kind, f"{row.namespace}/{row.name}".lstrip("/"))), row.outcome, str(row.workloads), row.message)
        for row in _listed(result.queues)
    ]
    for title, headings, rows in (
        ("Nodes", _NODES, nodes), ("Workloads", _WORKLOADS, workloads),
        ("Objects", _OBJECTS, objects), ("Queues", _QUEUES, queues),
    ):  # fmt: skip
        if rows:
            yield title, headings, rows


def _listed(outcomes: Iterable[T]) -> list[T]:
    return [row for row in outcomes if row.outcome not in UNCHANGED]


def _sections(result: TransitionResult) -> layout.Sections:
    return [("Simulated or left out", result.notes)] if result.notes else []


def _document(result: TransitionResult) -> dict[str, Any]:
    rows = {key: [asdict(row) for row in getattr(result, key)] for key in ("nodes", "workloads", "objects", "queues")}
    return {
        "cluster": result.cluster,
        "file": result.file,
        "before": result.before,
        **rows,
        "notes": list(result.notes),
        "seconds": layout.rounded(result.seconds),
    }


render = layout.Report("clusters", 1, _text, _markdown, _document).render

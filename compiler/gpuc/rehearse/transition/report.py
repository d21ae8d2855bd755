"""Reports of transitions: what a change did to nodes, work, objects and queues."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from typing import Any

from gpuc.diagnostics.report.terminal import Paint, visible
from gpuc.rehearse.layout import columns, sections, shortened, table
from gpuc.rehearse.transition.result import UNCHANGED, TransitionResult

VERSION = 1
"""Version of the JSON report; it increases if a key is removed or changes its meaning."""
_LENGTH = 160
_REASON_LENGTH = 500
"""Of the reason of a node: Karpenter names one reason for each NodePool, and that of the node is not the first."""
_NODES = ("node", "pool", "outcome", "by", "reason")
_WORKLOADS = ("workload", "queue", "pool", "outcome", "by", "message")
_OBJECTS = ("object", "outcome", "message")
_QUEUES = ("queue", "state", "workloads", "message")
Rows = list[tuple[str, ...]]


def render(form: str, results: Sequence[TransitionResult], *, colour: bool = False) -> str:
    """Returns the report as text, json or markdown, with a line break at the end.

    Raises:
        KeyError: for an unknown format.
    """
    match form:
        case "text":
            return "\n".join(_text(result, Paint(colour)) for result in results)
        case "markdown":
            return "\n".join(_markdown(result) for result in results)
        case "json":
            return _json(results)
    raise KeyError(form)


def summary(result: TransitionResult) -> str:
    """Returns the result in one line."""
    parts = [
        f"{_counted('nodes', (node.outcome for node in result.nodes))}",
        f"{_counted('workloads', (workload.outcome for workload in result.workloads))}",
        f"{_counted('objects', (changed.outcome for changed in result.objects))}",
    ]
    return f"{result.cluster}: {'; '.join(parts)}; {sum((result.seconds or {}).values()):.0f} s"


def _counted(name: str, outcomes: Iterable[str]) -> str:
    counts = Counter(outcomes)
    total = sum(counts.values())
    noun = name.removesuffix("s") if total == 1 else name
    return f"{total} {noun}" + "".join(f", {count} {outcome}" for outcome, count in sorted(counts.items()))


def _text(result: TransitionResult, paint: Paint) -> str:
    lines = [paint("1", f"{result.cluster} ({result.file}), from {visible(result.before)}")]
    for title, headings, rows in _tables(result):
        length = _REASON_LENGTH if headings is _NODES else _LENGTH
        short = [tuple(shortened(cell, length) for cell in row) for row in rows]
        lines += ["", paint("1", title), *columns([headings, *short])]
    lines += sections(_sections(result), "{}:", "  - ")
    steps = ", ".join(f"{name} {taken:.1f} s" for name, taken in (result.seconds or {}).items())
    return "\n".join([*lines, "", steps, summary(result), ""])


def _markdown(result: TransitionResult) -> str:
    lines = [f"## Transition of {result.cluster}", "", summary(result)]
    for title, headings, rows in _tables(result):
        lines += ["", f"### {title}", "", *table(headings, rows)]
    return "\n".join([*lines, *sections(_sections(result), "### {}\n", "- "), ""])


def _tables(result: TransitionResult) -> Iterator[tuple[str, tuple[str, ...], Rows]]:
    """Yields the title, the headings and the rows of each table, without tables and rows of unchanged things."""
    nodes: Rows = [
        (row.name, row.pool, row.outcome, row.by, row.reason) for row in result.nodes if _is_listed(row.outcome)
    ]
    workloads: Rows = [
        (f"{row.kind} {row.namespace}/{row.name}", row.queue, row.pool, row.outcome, row.by, row.message)
        for row in result.workloads
        if _is_listed(row.outcome)
    ]
    objects: Rows = [
        (str(row), row.outcome, row.message) for row in result.objects if _is_listed(row.outcome) or row.message
    ]
    queues: Rows = [
        (" ".join((row.kind, f"{row.namespace}/{row.name}".lstrip("/"))), row.outcome, str(row.workloads), row.message)
        for row in result.queues
        if _is_listed(row.outcome)
    ]
    for title, headings, rows in (
        ("Nodes", _NODES, nodes), ("Workloads", _WORKLOADS, workloads),
        ("Objects", _OBJECTS, objects), ("Queues", _QUEUES, queues),
    ):  # fmt: skip
        if rows:
            yield title, headings, rows


def _is_listed(outcome: str) -> bool:
    return outcome not in UNCHANGED


def _sections(result: TransitionResult) -> list[tuple[str, Sequence[str]]]:
    return [("Simulated or left out", result.notes)] if result.notes else []


def _json(results: Sequence[TransitionResult]) -> str:
    import json

    from gpuc import __version__

    documents = [_document(result) for result in results]
    return json.dumps({"version": VERSION, "gpuc": __version__, "clusters": documents}, indent=2) + "\n"


def _document(result: TransitionResult) -> dict[str, Any]:
    return {
        "cluster": result.cluster,
        "file": result.file,
        "before": result.before,
        "nodes": [asdict(node) for node in result.nodes],
        "workloads": [asdict(workload) for workload in result.workloads],
        "objects": [asdict(changed) for changed in result.objects],
        "queues": [asdict(queue) for queue in result.queues],
        "notes": list(result.notes),
        "seconds": {name: round(taken, 2) for name, taken in (result.seconds or {}).items()},
    }

"""The report of a run of Argo CD: its Applications, the edits with their seconds, and what failed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from gpuc import __version__
from gpuc.diagnostics.report.terminal import Paint, visible
from gpuc.rehearse.argocd.result import EditRun, Row, SyncResult
from gpuc.rehearse.report import VERSION

_HEADINGS = ("Application", "wave", "created s", "synced s", "good s", "note")
_EDIT_HEADINGS = ("edit", "change", "object", "s", "waited meanwhile")
_WORDS = 110


def render(form: str, results: Sequence[SyncResult], *, colour: bool = False) -> str:
    """The report in text, json or markdown, ending in a line break.

    Raises:
        KeyError: for an unknown format.
    """
    match form:
        case "text":
            return "\n".join(_text(result, Paint(colour)) for result in results)
        case "json":
            document = {"version": VERSION, "gpuc": __version__, "argocd": [_document(result) for result in results]}
            return json.dumps(document, indent=2) + "\n"
        case "markdown":
            return "\n".join(_markdown(result) for result in results)
    raise KeyError(form)


def closing(result: SyncResult) -> str:
    """The result in one line."""
    first = "never" if result.first_sync_s is None else f"after {result.first_sync_s:.0f} s"
    late = sum(edit.is_late for edit in result.edits)
    skipped = len(result.edits) - len(result.played)
    parts = [
        f"{result.good} of {len(result.rows)} Applications Synced and Healthy, all of them {first}",
        f"{len(result.not_rendered)} not rendered",
        f"{len(result.played)} edits, {late} not in time, {skipped} skipped",
        f"{len(result.failures)} failures",
        f"{sum(result.seconds.values()):.0f} s, {result.memory_mib} MiB",
    ]
    return f"{result.cluster}: {'; '.join(parts)}"


def _text(result: SyncResult, paint: Paint) -> str:
    where = f", Argo CD in {result.hub}" if result.hub else ""
    lines = [paint("1", f"{result.cluster} ({result.file}{where})"), ""]
    lines += _columns([_HEADINGS, *(_cells_of_row(row) for row in result.rows)])
    if result.edits:
        lines += ["", *_columns([_EDIT_HEADINGS, *(_cells_of_edit(edit) for edit in result.edits)])]
    for failure in result.failures:
        where = f"{failure.application}: {failure.object}" if failure.object else failure.application
        lines += ["", f"{paint('1;31', failure.kind)}  {visible(where)}  at {failure.at:.1f} s"]
        lines.append(f"    {visible(failure.words)}")
    for title, sentences in _sections(result):
        lines += ["", f"{title}:", *(f"  - {visible(sentence)}" for sentence in sentences)]
    steps = ", ".join(f"{name} {taken:.1f} s" for name, taken in result.seconds.items())
    good = paint("1;32", "good") if result.is_good else paint("1;31", "not good")
    return "\n".join([*lines, "", steps, f"{closing(result)}: {good}", ""])


def _markdown(result: SyncResult) -> str:
    where = f", Argo CD in {result.hub}" if result.hub else ""
    lines = [f"## Argo CD applies {result.cluster}{where}", "", closing(result), ""]
    lines += _table(_HEADINGS, (_cells_of_row(row) for row in result.rows))
    if result.edits:
        lines += ["", *_table(_EDIT_HEADINGS, (_cells_of_edit(edit, shortened=False) for edit in result.edits))]
    if result.failures:
        rows = ((f.kind, f.application, f.object, f"{f.at:.1f}", f.words) for f in result.failures)
        lines += ["", *_table(("failure", "Application or edit", "object", "at s", "words"), rows)]
    for title, sentences in _sections(result):
        lines += ["", f"### {title}", "", *(f"- {visible(sentence)}" for sentence in sentences)]
    return "\n".join([*lines, ""])


def _sections(result: SyncResult) -> Iterable[tuple[str, Sequence[str]]]:
    missing = [f"{name}: {reason}" for name, reason in result.not_rendered.items()]
    if missing:
        yield "Not rendered", missing
    if result.restless:
        yield "Noted", [f"{result.restless} times an Application of an earlier wave was good no more as another began."]
    yield "Substituted", result.substitutions
    if result.unjudged:
        yield "Could not be judged", result.unjudged


def _cells_of_row(row: Row) -> tuple[str, ...]:
    wave = "root" if row.wave is None else str(row.wave)
    return row.name, wave, _seconds(row.created_s), _seconds(row.synced_s), _seconds(row.good_s), _short(row.note)


def _cells_of_edit(edit: EditRun, *, shortened: bool = True) -> tuple[str, ...]:
    cut = _short if shortened else str
    if edit.skipped:
        return edit.name, "skipped", "", "", cut(edit.skipped)
    seconds = "never" if edit.seconds is None else f"{edit.seconds:.1f}"
    rest = "; ".join([*edit.waited, edit.note] if edit.note else edit.waited)
    return edit.name, cut(edit.change), cut(edit.object), seconds, cut(rest)


def _seconds(taken: float | None) -> str:
    return "-" if taken is None else f"{taken:.1f}"


def _short(words: str) -> str:
    return words if len(words) <= _WORDS else f"{words[: _WORDS - 3]}..."


def _columns(rows: Iterable[tuple[str, ...]]) -> list[str]:
    """Rows in columns, all but the last as wide as their widest cell."""
    shown = [tuple(visible(cell) for cell in row) for row in rows]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in shown]


def _table(headings: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> list[str]:
    marks = [f"| {' | '.join(headings)} |", f"| {' | '.join('---' for _ in headings)} |"]
    return [*marks, *(f"| {' | '.join(visible(cell).replace('|', chr(92) + '|') for cell in row)} |" for row in rows)]


def _document(result: SyncResult) -> dict[str, Any]:
    return {
        "cluster": result.cluster,
        "file": result.file,
        "hub": result.hub,
        "good": result.is_good,
        "first_sync_s": _rounded(result.first_sync_s),
        "restless": result.restless,
        "counts": {
            "applications": len(result.rows),
            "good": result.good,
            "edits": len(result.played),
            "late": sum(edit.is_late for edit in result.edits),
            "failures": len(result.failures),
        },
        "seconds": {name: round(taken, 2) for name, taken in result.seconds.items()},
        "memory_mib": result.memory_mib,
        "applications": [_numbers(asdict(row)) for row in result.rows],
        "edits": [_numbers(asdict(edit)) | {"waited": list(edit.waited)} for edit in result.edits],
        "failures": [_numbers(asdict(failure)) for failure in result.failures],
        "not_rendered": dict(result.not_rendered),
        "substitutions": list(result.substitutions),
        "unjudged": list(result.unjudged),
    }


def _numbers(record: dict[str, Any]) -> dict[str, Any]:
    return {key: round(value, 2) if isinstance(value, float) else value for key, value in record.items()}


def _rounded(taken: float | None) -> float | None:
    return None if taken is None else round(taken, 2)

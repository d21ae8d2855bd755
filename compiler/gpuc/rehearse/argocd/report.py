"""The report of a run of Argo CD: its Applications, the edits with their seconds, and what failed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from gpuc.diagnostics.report.terminal import Paint, visible
from gpuc.rehearse import layout
from gpuc.rehearse.argocd.result import EditRun, Row, SyncResult

_HEADINGS = ("Application", "wave", "created s", "synced s", "good s", "note")
_EDIT_HEADINGS = ("edit", "change", "object", "s", "waited meanwhile")
_WORDS = 110


def render(form: str, results: Sequence[SyncResult], *, colour: bool = False) -> str:
    """The report in text, json or markdown, ending in a line break.

    Raises:
        KeyError: for an unknown format.
    """
    return layout.rendered(form, results, Paint(colour), "argocd", _text, _markdown, _document)


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
    lines += layout.columns([_HEADINGS, *(_cells_of_row(row) for row in result.rows)])
    if result.edits:
        lines += ["", *layout.columns([_EDIT_HEADINGS, *(_cells_of_edit(edit) for edit in result.edits)])]
    for failure in result.failures:
        where = f"{failure.application}: {failure.object}" if failure.object else failure.application
        lines += ["", f"{paint('1;31', failure.kind)}  {visible(where)}  at {failure.at:.1f} s"]
        lines.append(f"    {visible(failure.words)}")
    lines += layout.sections(_sections(result), "{}:", "  - ")
    steps = ", ".join(f"{name} {taken:.1f} s" for name, taken in result.seconds.items())
    good = paint("1;32", "good") if result.is_good else paint("1;31", "not good")
    return "\n".join([*lines, "", steps, f"{closing(result)}: {good}", ""])


def _markdown(result: SyncResult) -> str:
    where = f", Argo CD in {result.hub}" if result.hub else ""
    lines = [f"## Argo CD applies {result.cluster}{where}", "", closing(result), ""]
    lines += layout.table(_HEADINGS, (_cells_of_row(row) for row in result.rows))
    if result.edits:
        lines += ["", *layout.table(_EDIT_HEADINGS, (_cells_of_edit(edit, shortened=False) for edit in result.edits))]
    if result.failures:
        rows = ((f.kind, f.application, f.object, f"{f.at:.1f}", f.words) for f in result.failures)
        lines += ["", *layout.table(("failure", "Application or edit", "object", "at s", "words"), rows)]
    return "\n".join([*lines, *layout.sections(_sections(result), "### {}\n", "- "), ""])


def _sections(result: SyncResult) -> layout.Sections:
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
    return layout.shortened(words, _WORDS)


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

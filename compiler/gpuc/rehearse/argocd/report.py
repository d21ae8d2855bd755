"""Writes the report of a run of Argo CD: Applications, edits with durations, and failures."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from gpuc.diagnostics.report.terminal import Paint, visible
from gpuc.rehearse import layout
from gpuc.rehearse.argocd.result import ApplicationRow, EditResult, SyncResult

_HEADINGS = ("Application", "wave", "created s", "Synced s", "Healthy s", "note")
_EDIT_HEADINGS = ("edit", "change", "object", "s", "waits and notes")
_MAX_LENGTH = 110


def summary(result: SyncResult) -> str:
    """Returns one line with the numbers of the result."""
    first = "never" if result.first_sync_s is None else f"after {result.first_sync_s:.0f} s"
    late = sum(edit.is_late for edit in result.edits)
    skipped = len(result.edits) - len(result.edits_run)
    parts = [
        f"{result.good} of {len(result.rows)} Applications were Synced and Healthy, all Applications {first}",
        f"{len(result.not_rendered)} not rendered",
        f"{len(result.edits_run)} edits, {late} late, {skipped} skipped",
        f"{len(result.failures)} failures",
        f"{sum(result.seconds.values()):.0f} s, {result.memory_mib} MiB",
    ]
    return f"{result.cluster}: {'; '.join(parts)}"


def _text(result: SyncResult, paint: Paint) -> str:
    where = f", Argo CD in {result.hub}" if result.hub else ""
    lines = [paint("1", f"{result.cluster} ({result.file}{where})"), ""]
    lines += layout.columns([_HEADINGS, *(_application_cells(row) for row in result.rows)])
    if result.edits:
        lines += ["", *layout.columns([_EDIT_HEADINGS, *(_edit_cells(edit) for edit in result.edits)])]
    for failure in result.failures:
        where = f"{failure.application}: {failure.object}" if failure.object else failure.application
        lines += ["", f"{paint('1;31', failure.kind)}  {visible(where)}  at {failure.at:.1f} s"]
        lines.append(f"    {visible(failure.message)}")
    last = f"{summary(result)}: {layout.good_or_not(result.is_good, paint)}"
    return layout.text_report(lines, _sections(result), result.seconds, last)


def _markdown(result: SyncResult) -> str:
    where = f", Argo CD in {result.hub}" if result.hub else ""
    lines = [f"## Argo CD applies {result.cluster}{where}", "", summary(result), ""]
    lines += layout.table(_HEADINGS, (_application_cells(row) for row in result.rows))
    if result.edits:
        lines += ["", *layout.table(_EDIT_HEADINGS, (_edit_cells(edit, shortened=False) for edit in result.edits))]
    if result.failures:
        rows = ((f.kind, f.application, f.object, f"{f.at:.1f}", f.message) for f in result.failures)
        lines += ["", *layout.table(("failure", "Application or edit", "object", "at s", "message"), rows)]
    return layout.markdown_report(lines, _sections(result))


def _sections(result: SyncResult) -> layout.Sections:
    reasons = [f"{name}: {reason}" for name, reason in result.not_rendered.items()]
    if reasons:
        yield "Not rendered", reasons
    if times := result.regressions:
        note = f"{times} times, a wave started while an Application of an earlier wave was no longer"
        yield "Notes", [f"{note} Synced and Healthy."]
    yield "Simulated or replaced", result.substitutions
    if result.not_tested:
        yield "Not tested", result.not_tested


def _application_cells(row: ApplicationRow) -> tuple[str, ...]:
    wave = "root" if row.wave is None else str(row.wave)
    return row.name, wave, _seconds(row.created_s), _seconds(row.synced_s), _seconds(row.good_s), _short(row.note)


def _edit_cells(edit: EditResult, *, shortened: bool = True) -> tuple[str, ...]:
    short = _short if shortened else str
    if edit.skipped:
        return edit.name, "skipped", "", "", short(edit.skipped)
    seconds = "never" if edit.seconds is None else f"{edit.seconds:.1f}"
    rest = "; ".join([*edit.waited, edit.note] if edit.note else edit.waited)
    return edit.name, short(edit.change), short(edit.object), seconds, short(rest)


def _seconds(taken: float | None) -> str:
    return "-" if taken is None else f"{taken:.1f}"


def _short(text: str) -> str:
    return layout.shortened(text, _MAX_LENGTH)


def _document(result: SyncResult) -> dict[str, Any]:
    return {
        "cluster": result.cluster,
        "file": result.file,
        "hub": result.hub,
        "good": result.is_good,
        **_numbers({"first_sync_s": result.first_sync_s}),
        "regressions": result.regressions,
        "counts": {
            "applications": len(result.rows),
            "good": result.good,
            "edits": len(result.edits_run),
            "late": sum(edit.is_late for edit in result.edits),
            "failures": len(result.failures),
        },
        "seconds": layout.rounded(result.seconds),
        "memory_mib": result.memory_mib,
        "applications": [_numbers(asdict(row)) for row in result.rows],
        "edits": [_numbers(asdict(edit)) | {"waited": list(edit.waited)} for edit in result.edits],
        "failures": [_numbers(asdict(failure)) for failure in result.failures],
        "not_rendered": dict(result.not_rendered),
        "substitutions": list(result.substitutions),
        "not_tested": list(result.not_tested),
    }


def _numbers(record: dict[str, Any]) -> dict[str, Any]:
    return {key: round(value, 2) if isinstance(value, float) else value for key, value in record.items()}


render = layout.Report("argocd", 2, _text, _markdown, _document).render

"""The report for people: position, severity, id, message, the source line with a caret, and the fix."""

from __future__ import annotations

from collections import Counter

from gpuc.diagnostics.finding import RULES, Severity
from gpuc.diagnostics.output_error import REPORT_THIS
from gpuc.diagnostics.report import changes
from gpuc.diagnostics.report.result import Report, ReportRow
from gpuc.diagnostics.report.terminal import Paint, clipped, column_width, visible

_COLOURS = {Severity.ERROR: "1;31", Severity.WARNING: "1;33", Severity.INFO: "1;36"}
_MANY = 12
"""Number of findings from which the report also lists the most frequent rules."""
_MOST_FREQUENT = 5
_PLURALS = {Severity.ERROR: "errors", Severity.WARNING: "warnings", Severity.INFO: "infos"}


def render(report: Report, colour: bool) -> str:
    """Returns the report as text. Control characters from the input are escaped."""
    paint = Paint(colour)
    if report.quiet:
        return _quiet(report, paint)
    blocks = [_block(row, report, paint) for row in report.rows]
    return (
        "\n".join([*blocks, *_unchecked(report), *_failures(report, paint), *_changes(report), *_summary(report)])
        + "\n"
    )


def _quiet(report: Report, paint: Paint) -> str:
    """Returns the errors and warnings; an empty string if there are none."""
    rows = [row for row in report.rows if row.finding.severity is not Severity.INFO]
    blocks = [_block(row, report, paint).rstrip("\n") for row in rows]
    return "".join(f"{block}\n" for block in (*blocks, *_failures(report, paint)) if block)


def _block(row: ReportRow, report: Report, paint: Paint) -> str:
    finding = row.finding
    severity = paint(_COLOURS[finding.severity], finding.severity.value)
    message = "\n    ".join(visible(line) for line in finding.message.splitlines())
    head = f"{paint('1', visible(_position(row)))}  {severity} {finding.id}  {message}"
    lines = [head + _clusters(row), *_excerpt(row, report, paint)]
    lines += [
        f"    {paint('36', 'see:')} {visible(str(other.mark or ''))}  {visible(other.message)}"
        for other in finding.related
    ]
    if finding.fix:
        fix = "\n         ".join(visible(line) for line in finding.fix.splitlines())
        lines.append(f"    {paint('32', 'fix:')} {fix}")
    return "\n".join([*lines, ""])


def _position(row: ReportRow) -> str:
    if row.finding.mark is not None:
        return str(row.finding.mark)
    return ": ".join(part for part in (row.finding.cluster, row.path) if part) or "gpuc"


def _clusters(row: ReportRow) -> str:
    """Returns the clusters of a finding in a shared layer; an empty string for a finding in the spec of its cluster."""
    mark = row.finding.mark
    if mark is None or all(f"/{name}." in f"/{mark.file}" for name in row.clusters):
        return ""
    return visible(f" (in {', '.join(row.clusters)})")


def _excerpt(row: ReportRow, report: Report, paint: Paint) -> list[str]:
    mark = row.finding.mark
    line = report.lines(mark) if mark is not None else None
    if mark is None or line is None:
        return []
    shown, column = clipped(line, mark.column)
    number = str(mark.line)
    caret = " " * column_width(shown[: column - 1]) + paint(_COLOURS[row.finding.severity], "^")
    return [
        f"  {paint('2', f'{number} |')} {visible(shown)}",
        f"  {' ' * len(number)} {paint('2', '|')} {caret}",
    ]


def _unchecked(report: Report) -> list[str]:
    if not report.unchecked:
        return []
    return ["Not checked:", *(f"  - {visible(sentence)}" for sentence in report.unchecked), ""]


def _failures(report: Report, paint: Paint) -> list[str]:
    """Returns the errors in the output, with the spec lines from which gpuc created the objects."""
    if not report.failure_rows:
        return []
    head = f"{REPORT_THIS}: the output is wrong, and no change of a spec can correct it. No file was written."
    lines = [
        f"  {row.finding.id}  {visible(row.finding.message)} (from {visible(_position(row))})"
        for row in report.failure_rows
    ]
    return [paint("1;31", head), *lines, ""]


def _changes(report: Report) -> list[str]:
    """Returns what a compile added, changed and removed."""
    return [visible(line) for line in changes.lines(report.changes)]


def _summary(report: Report) -> list[str]:
    """Returns the counts, the most frequent rules, and the command that explains the first finding."""
    counts = {severity: report.count(severity) for severity in Severity}
    findings = ", ".join(
        f"{count} {severity.value if count == 1 else _PLURALS[severity]}" for severity, count in counts.items() if count
    )
    subject = (len(report.clusters), "cluster") if report.objects is None else (report.objects, "object")
    failures = f"{_number(len(report.failure_rows), 'failure')} of gpuc" if report.failure_rows else ""
    counted = "; ".join(part for part in (findings, failures) if part)
    line = f"{_number(*subject)}: {counted or 'no findings'}"
    if report.written or report.removed or report.unchanged:
        written = _number(len(report.written), "file")
        line += f"; {written} written, {len(report.removed)} removed, {report.unchanged} unchanged"
    if report.seconds is not None:
        line += f" ({report.seconds:.2f} s)"
    if not report.rows:
        return [line]
    frequent = _most_frequent(report) if len(report.rows) >= _MANY else []
    return [line, *frequent, f"`gpuc explain {report.rows[0].finding.id}` explains the first finding"]


def _most_frequent(report: Report) -> list[str]:
    """Returns the rules with the most findings, with their counts and titles."""
    counts = Counter(row.finding.id for row in report.rows)
    most = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:_MOST_FREQUENT]
    width = len(str(most[0][1]))
    return [f"  {count:>{width}} {name}  {RULES[name].title}" for name, count in most if count > 1]


def _number(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"

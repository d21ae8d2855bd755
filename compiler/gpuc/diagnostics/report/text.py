"""The report for people: position, severity, id, message, the source line with a caret, related places, and the fix."""

from __future__ import annotations

from collections import Counter

from gpuc.diagnostics.finding import RULES, Severity
from gpuc.diagnostics.output_error import REPORT_THIS
from gpuc.diagnostics.report import changes
from gpuc.diagnostics.report.result import Report, ReportRow
from gpuc.diagnostics.report.terminal import PLAIN, Paint, Style, clipped, column_width, visible, wrapped
from gpuc.diagnostics.words import counted

_COLOURS = {Severity.ERROR: "1;31", Severity.WARNING: "1;33", Severity.INFO: "1;36"}
_MANY = 12
"""Number of findings from which the report also lists the most frequent rules."""
_MOST_FREQUENT = 5
_INDENT = 4
"""Columns before the further lines of a finding."""
_LABEL = len("fix: ")
_RELATED_COLUMNS = 60
"""The maximum number of columns of the source line of a related place."""
_MOST_RELATED = 8
"""The maximum number of related places of a finding; other formats contain all places."""
_PLURALS = {Severity.ERROR: "errors", Severity.WARNING: "warnings", Severity.INFO: "infos"}


def render(report: Report, style: Style = PLAIN) -> str:
    """Returns the report as text. Control characters from the input are escaped."""
    if report.quiet:
        return _quiet(report, style)
    paint = Paint(style.colour)
    blocks = [_block(row, report, paint, style.width) for row in report.rows]
    parts = [*blocks, *_unchecked(report), *_failures(report, paint), *_changes(report), *_summary(report)]
    return "\n".join(parts) + "\n"


def _quiet(report: Report, style: Style) -> str:
    """Returns the errors and warnings; an empty string if there are none."""
    paint = Paint(style.colour)
    rows = [row for row in report.rows if row.finding.severity is not Severity.INFO]
    blocks = [_block(row, report, paint, style.width).rstrip("\n") for row in rows]
    return "".join(f"{block}\n" for block in (*blocks, *_failures(report, paint)) if block)


def _block(row: ReportRow, report: Report, paint: Paint, width: int | None) -> str:
    finding = row.finding
    position = visible(_position(row))
    start = column_width(f"{position}  {finding.severity.value} {finding.id}  ")
    message = _indented(finding.message + _clusters(row), width, first=start, indent=_INDENT)
    severity = paint(_COLOURS[finding.severity], finding.severity.value)
    lines = [f"{paint('1', position)}  {severity} {finding.id}  {message}", *_excerpt(row, report, paint)]
    lines += _related(row, report, paint, width)
    if finding.fix:
        fix = _indented(finding.fix, width, first=_INDENT + _LABEL, indent=_INDENT + _LABEL)
        lines.append(f"{' ' * _INDENT}{paint('32', 'fix:')} {fix}")
    return "\n".join([*lines, ""])


def _indented(text: str, width: int | None, *, first: int, indent: int) -> str:
    """Returns a text of one or several lines, broken at the width, with spaces before all lines but the first."""
    lines = [
        wrapped(visible(line), width, first=indent if number else first, indent=indent)
        for number, line in enumerate(text.splitlines())
    ]
    return f"\n{' ' * indent}".join(lines)


def _related(row: ReportRow, report: Report, paint: Paint, width: int | None) -> list[str]:
    """Returns a line for each related place: the position, what is there, and the source line, in columns."""
    related = row.related[:_MOST_RELATED]
    places = [visible(str(other.mark or "")) for other in related]
    messages = [visible(other.message) for other in related]
    place_width = max(map(column_width, places), default=0)
    message_width = max(map(column_width, messages), default=0)
    start = _INDENT + _LABEL + place_width + 2
    lines = []
    for number, (other, place, message) in enumerate(zip(related, places, messages, strict=True)):
        label = " " * _INDENT + (" " * len("see:") if number else paint("36", "see:"))
        shown = wrapped(message, width, first=start, indent=start)
        source = visible(((other.mark and report.lines(other.mark)) or "").partition(" #")[0].strip())
        room = min(_RELATED_COLUMNS, width - start - message_width - 4 if width else _RELATED_COLUMNS)
        if source and 0 < column_width(source) <= room:
            shown += " " * (message_width - column_width(message)) + paint("2", f"  | {source}")
        lines.append(f"{label} {place}{' ' * (place_width - column_width(place))}  {shown}".rstrip())
    rest = len(row.related) - len(related)
    return [*lines, f"{' ' * (_INDENT + _LABEL)}and {counted(rest, 'other place')}"] if rest else lines


def _position(row: ReportRow) -> str:
    if row.finding.mark is not None:
        return str(row.finding.mark)
    return ": ".join(part for part in (row.finding.cluster, row.path) if part) or "gpuc"


def _clusters(row: ReportRow) -> str:
    """Returns the clusters of a finding in a shared layer; an empty string for a finding in the spec of its cluster."""
    mark = row.finding.mark
    if mark is None or all(f"/{name}." in f"/{mark.file}" for name in row.clusters):
        return ""
    return f" (in {', '.join(row.clusters)})"


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
    """Returns the counts, the most frequent rules, and the command that explains the first error or finding."""
    counts = {severity: report.count(severity) for severity in Severity}
    findings = ", ".join(
        f"{count} {severity.value if count == 1 else _PLURALS[severity]}" for severity, count in counts.items() if count
    )
    subject = (len(report.clusters), "cluster") if report.objects is None else (report.objects, "object")
    failures = f"{counted(len(report.failure_rows), 'failure')} of gpuc" if report.failure_rows else ""
    numbers = "; ".join(part for part in (findings, failures) if part)
    line = f"{counted(*subject)}: {numbers or 'no findings'}"
    if report.written or report.removed or report.unchanged:
        written = counted(len(report.written), "file")
        line += f"; {written} written, {len(report.removed)} removed, {report.unchanged} unchanged"
    if report.seconds is not None:
        line += f" ({report.seconds:.2f} s)"
    if not report.rows:
        return [line]
    frequent = _most_frequent(report) if len(report.rows) >= _MANY else []
    error = next((row.finding.id for row in report.rows if row.finding.is_error), "")
    explained = f"`gpuc explain {error or report.rows[0].finding.id}` explains the first"
    return [line, *frequent, f"{explained} {'error' if error else 'finding'}"]


def _most_frequent(report: Report) -> list[str]:
    """Returns the rules with the most findings, with their counts and titles."""
    counts = Counter(row.finding.id for row in report.rows)
    most = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:_MOST_FREQUENT]
    width = len(str(most[0][1]))
    return [f"  {count:>{width}} {name}  {RULES[name].title}" for name, count in most if count > 1]

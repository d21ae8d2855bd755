"""The report for people. For each finding: position, severity, id, message, source line, related positions and fix."""

from collections import Counter
from collections.abc import Iterator

from gpuc.diagnostics.finding import Severity, find_rule
from gpuc.diagnostics.output_error import REPORT_THIS
from gpuc.diagnostics.report import changes
from gpuc.diagnostics.report.document import Block, Part, Span, Wrapped, strong
from gpuc.diagnostics.report.printer import printed
from gpuc.diagnostics.report.result import Report, ReportRow
from gpuc.diagnostics.report.terminal import PLAIN, Style, clipped, column_width, padded
from gpuc.diagnostics.words import counted, kind_of

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


def render(report: Report, style: Style = PLAIN) -> str:
    """Returns a report as text for people."""
    return printed(_quiet(report, style) if report.quiet else _complete(report, style), style)


def _complete(report: Report, style: Style) -> Iterator[Block]:
    for row in report.rows:
        yield from (*_finding(row, report, style.width), "")
    if report.unchecked:
        yield from ("Not checked:", *(f"  - {sentence}" for sentence in report.unchecked), "")
    if report.remarks:
        yield from (*report.remarks, "")
    if report.failure_rows:
        yield from (*_failures(report), "")
    yield from changes.lines(report.changes)
    yield from _summary(report)


def _quiet(report: Report, style: Style) -> Iterator[Block]:
    """Yields the errors and warnings."""
    for row in report.rows:
        if row.finding.severity is not Severity.INFO:
            yield from _finding(row, report, style.width)
    if report.failure_rows:
        yield from _failures(report)


def _finding(row: ReportRow, report: Report, width: int | None) -> Iterator[Block]:
    finding = row.finding
    severity = Span(finding.severity.value, _COLOURS[finding.severity])
    yield Wrapped((strong(_position(row)), "  ", severity, f" {finding.id}  ", finding.message), _INDENT)
    yield from _excerpt(row, report)
    yield from _related(row, report, width)
    if finding.fix:
        yield Wrapped((" " * _INDENT, Span("fix:", "32"), " ", finding.fix), _INDENT + _LABEL)
    if clusters := _clusters(row):
        yield Wrapped((" " * _INDENT, "affects: ", clusters), _INDENT + len("affects: "))


def _related(row: ReportRow, report: Report, width: int | None) -> Iterator[Block]:
    """Yields a line for each related place: the position, what is there, and the source line, in columns."""
    related = row.related[:_MOST_RELATED]
    places = [str(other.mark or "") for other in related]
    place_width = max(map(column_width, places), default=0)
    message_width = max((column_width(other.message) for other in related), default=0)
    start = _INDENT + _LABEL + place_width + 2
    label: Part = Span("see:", "36")
    for other, place in zip(related, places, strict=True):
        line = (" " * _INDENT, label, f" {padded(place, place_width)}  ")
        label = " " * len("see:")
        source = ((other.mark and report.lines(other.mark)) or "").partition(" #")[0].strip()
        room = min(_RELATED_COLUMNS, width - start - message_width - 4 if width else _RELATED_COLUMNS)
        if source and column_width(source) <= room:
            yield (*line, padded(other.message, message_width), Span(f"  | {source}", "2"))
        else:
            yield Wrapped((*line, other.message), start)
    if rest := len(row.related) - len(related):
        yield f"{' ' * (_INDENT + _LABEL)}and {counted(rest, 'other place')}"


def _position(row: ReportRow) -> str:
    if row.finding.mark is not None:
        return str(row.finding.mark)
    return ": ".join(part for part in (row.finding.cluster, row.path) if part) or "gpuc"


def _clusters(row: ReportRow) -> str:
    """Returns the clusters of a finding in a shared layer; an empty string for a finding in the spec of its cluster."""
    mark = row.finding.mark
    if mark is None or all(f"/{name}." in f"/{mark.file}" for name in row.clusters):
        return ""
    return kind_of(row.clusters, "cluster")


def _excerpt(row: ReportRow, report: Report) -> Iterator[Block]:
    mark = row.finding.mark
    line = report.lines(mark) if mark is not None else None
    if mark is None or line is None:
        return
    shown, column = clipped(line, mark.column)
    number = f"{mark.line} "
    caret = Span("^", _COLOURS[row.finding.severity])
    yield "  ", Span(f"{number}|", "2"), f" {shown}"
    yield f"  {' ' * len(number)}", Span("|", "2"), " " * (1 + column_width(shown[: column - 1])), caret


def _failures(report: Report) -> Iterator[Block]:
    """Yields the errors in the output, with the spec lines from which gpuc created the objects."""
    head = f"{REPORT_THIS}: the output is wrong, and no change of a spec can correct it. No file was written."
    yield Span(head, "1;31")
    for row in report.failure_rows:
        yield f"  {row.finding.id}  {row.finding.message} (from {_position(row)})"


def _summary(report: Report) -> list[str]:
    """Returns the counts, the most frequent rules, and the command that explains the first error or finding."""
    counts = {severity: report.count(severity) for severity in Severity}
    findings = ", ".join(counted(count, severity.value) for severity, count in counts.items() if count)
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
    return [f"  {count:>{width}} {name}  {_title(name)}" for name, count in most if count > 1]


def _title(id: str) -> str:  # noqa: A002
    rule = find_rule(id)
    return rule.title if rule else ""

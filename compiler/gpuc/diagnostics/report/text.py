"""The report for people: place, severity, id, message, the line with a caret, and what to write instead."""

from __future__ import annotations

from collections import Counter

from gpuc.diagnostics.finding import RULES, Severity
from gpuc.diagnostics.output_error import REPORT_THIS
from gpuc.diagnostics.report.result import Diagnostic, Report
from gpuc.diagnostics.report.terminal import Paint, clipped, column_width, visible

_COLOURS = {Severity.ERROR: "1;31", Severity.WARNING: "1;33", Severity.INFO: "1;36"}
_MANY = 12
"""Findings from which on a reader is told which kinds there are most of."""
_MOST_OFTEN = 5
_PLURALS = {Severity.ERROR: "errors", Severity.WARNING: "warnings", Severity.INFO: "infos"}


def render(report: Report, colour: bool) -> str:
    """The report as text; control characters of quoted input are shown, never sent."""
    paint = Paint(colour)
    blocks = [_diagnostic(each, report, paint) for each in report.diagnostics]
    return "\n".join([*blocks, *_left_out(report), *_bugs(report, paint), *_closing(report)]) + "\n"


def _diagnostic(diagnostic: Diagnostic, report: Report, paint: Paint) -> str:
    finding = diagnostic.finding
    severity = paint(_COLOURS[finding.severity], finding.severity.value)
    message = "\n    ".join(visible(line) for line in finding.message.splitlines())
    head = f"{paint('1', visible(_place(diagnostic)))}  {severity} {finding.id}  {message}"
    lines = [head + _concerned(diagnostic), *_excerpt(diagnostic, report, paint)]
    if finding.fix:
        fix = "\n         ".join(visible(line) for line in finding.fix.splitlines())
        lines.append(f"    {paint('32', 'fix:')} {fix}")
    return "\n".join([*lines, ""])


def _place(diagnostic: Diagnostic) -> str:
    if diagnostic.finding.mark is not None:
        return str(diagnostic.finding.mark)
    return ": ".join(part for part in (diagnostic.finding.cluster, diagnostic.path) if part) or "gpuc"


def _concerned(diagnostic: Diagnostic) -> str:
    """Which clusters a finding in a shared layer concerns; a cluster's own file says it already."""
    mark = diagnostic.finding.mark
    if mark is None or all(f"/{name}." in f"/{mark.file}" for name in diagnostic.clusters):
        return ""
    return visible(f" (in {', '.join(diagnostic.clusters)})")


def _excerpt(diagnostic: Diagnostic, report: Report, paint: Paint) -> list[str]:
    mark = diagnostic.finding.mark
    line = report.lines(mark) if mark is not None else None
    if mark is None or line is None:
        return []
    shown, column = clipped(line, mark.column)
    number = str(mark.line)
    caret = " " * column_width(shown[: column - 1]) + paint(_COLOURS[diagnostic.finding.severity], "^")
    return [
        f"  {paint('2', f'{number} |')} {visible(shown)}",
        f"  {' ' * len(number)} {paint('2', '|')} {caret}",
    ]


def _left_out(report: Report) -> list[str]:
    if not report.unjudged:
        return []
    return ["Could not be judged:", *(f"  - {visible(sentence)}" for sentence in report.unjudged), ""]


def _bugs(report: Report, paint: Paint) -> list[str]:
    """What is wrong with the output, and the spec line that each object comes from, as a hint."""
    if not report.bugs:
        return []
    head = f"{REPORT_THIS}: its output is wrong, and no line of a spec can mend it. Nothing is written."
    rows = [
        f"  {each.finding.id}  {visible(each.finding.message)} (from {visible(_place(each))})" for each in report.bugs
    ]
    return [paint("1;31", head), *rows, ""]


def _closing(report: Report) -> list[str]:
    """The counts, and where to read on."""
    counts = {severity: report.count(severity) for severity in Severity}
    found = ", ".join(
        f"{count} {severity.value if count == 1 else _PLURALS[severity]}" for severity, count in counts.items() if count
    )
    subject = (len(report.clusters), "cluster") if report.objects is None else (report.objects, "object")
    failures = f"{_number(len(report.bugs), 'failure')} of gpuc" if report.bugs else ""
    counted = "; ".join(part for part in (found, failures) if part)
    line = f"{_number(*subject)}: {counted or 'no findings'}"
    if report.written or report.removed or report.unchanged:
        written = _number(len(report.written), "file")
        line += f"; {written} written, {len(report.removed)} removed, {report.unchanged} unchanged"
    if report.seconds is not None:
        line += f" ({report.seconds:.2f} s)"
    if not report.diagnostics:
        return [line]
    often = _often(report) if len(report.diagnostics) >= _MANY else []
    return [line, *often, f"gpuc explain {report.diagnostics[0].finding.id} tells why it matters"]


def _often(report: Report) -> list[str]:
    """Of a long report the ids that it has most of, each with its count and title."""
    counts = Counter(each.finding.id for each in report.diagnostics)
    most = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:_MOST_OFTEN]
    width = len(str(most[0][1]))
    return [f"  {count:>{width}} {name}  {RULES[name].title}" for name, count in most if count > 1]


def _number(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"

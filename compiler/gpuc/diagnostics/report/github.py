"""Prints a report as GitHub workflow commands, so that a pull request shows each finding at its line."""

from gpuc.diagnostics.finding import Mark, Severity, find_rule
from gpuc.diagnostics.output_error import REPORT_THIS
from gpuc.diagnostics.report.result import Report, ReportRow

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


def render(report: Report) -> str:
    """Returns a workflow command for each finding. Errors come first: GitHub shows only ten per step and severity."""
    order = list(Severity)
    rows = sorted(report.rows, key=lambda row: order.index(row.finding.severity))
    commands = [_command(row, report.repository_prefix, REPORT_THIS) for row in report.failure_rows]
    commands += [_command(row, report.repository_prefix) for row in rows]
    return "".join(f"{command}\n" for command in commands)


def _command(row: ReportRow, prefix: str, title: str = "") -> str:
    finding = row.finding
    properties: dict[str, str] = {}
    if finding.mark is not None:
        properties["file"] = _path(prefix, finding.mark)
        properties["line"] = str(finding.mark.line)
        properties["col"] = str(finding.mark.column)
    rule = find_rule(finding.id)
    properties["title"] = title or (f"{finding.id} {rule.title}" if rule else finding.id)
    message = (f"{finding.id} " if title else "") + finding.message
    for other in row.related:
        place = f"{_path(prefix, other.mark)}:{other.mark.line}: " if other.mark else ""
        message += f"\nsee {place}{other.message}"
    message += f"\nfix: {finding.fix}" if finding.fix else ""
    if len(row.clusters) > 1:
        message += f"\nin {', '.join(row.clusters)}"
    listed = ",".join(f"{key}={escape_property(value)}" for key, value in properties.items())
    return f"::{_COMMANDS[finding.severity]} {listed}::{escape_data(message)}"


def _path(prefix: str, mark: Mark) -> str:
    """Returns the path of a file in the repository, without the "./" of an argument of lint."""
    return prefix + mark.file.removeprefix("./")


def escape_data(text: str) -> str:
    """Returns a text with the escapes that the message of a workflow command needs.

    Source: https://github.com/actions/toolkit packages/core/src/command.ts
    """
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def escape_property(text: str) -> str:
    """Returns a text with the escapes that a property of a workflow command needs, for example the file.

    Source: https://github.com/actions/toolkit packages/core/src/command.ts
    """
    return escape_data(text).replace(":", "%3A").replace(",", "%2C")

"""The report as GitHub workflow commands, which a pull request shows beside the lines that they name."""

from __future__ import annotations

from gpuc.diagnostics.finding import RULES, Severity
from gpuc.diagnostics.output_error import REPORT_THIS
from gpuc.diagnostics.report.result import Diagnostic, Report

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


def render(report: Report) -> str:
    """One command per finding; errors first, because GitHub shows only the first ten of a step by kind."""
    order = list(Severity)
    diagnostics = sorted(report.diagnostics, key=lambda each: order.index(each.finding.severity))
    bugs = [_command(each, report.repository_prefix, REPORT_THIS) for each in report.bugs]
    return "".join(f"{line}\n" for line in [*bugs, *(_command(each, report.repository_prefix) for each in diagnostics)])


def _command(diagnostic: Diagnostic, prefix: str, title: str = "") -> str:
    finding = diagnostic.finding
    properties: dict[str, str] = {}
    if finding.mark is not None:
        properties["file"] = prefix + finding.mark.file
        properties["line"] = str(finding.mark.line)
        properties["col"] = str(finding.mark.column)
    known = RULES.get(finding.id)
    properties["title"] = title or (f"{finding.id} {known.title}" if known else finding.id)
    message = (f"{finding.id} " if title else "") + finding.message + (f"\nfix: {finding.fix}" if finding.fix else "")
    if len(diagnostic.clusters) > 1:
        message += f"\nin {', '.join(diagnostic.clusters)}"
    listed = ",".join(f"{key}={escape_property(value)}" for key, value in properties.items())
    return f"::{_COMMANDS[finding.severity]} {listed}::{escape_data(message)}"


def escape_data(text: str) -> str:
    """The text as the message of a workflow command.

    Source: https://github.com/actions/toolkit packages/core/src/command.ts
    """
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def escape_property(text: str) -> str:
    """The text as the value of a workflow command's property.

    Source: https://github.com/actions/toolkit packages/core/src/command.ts
    """
    return escape_data(text).replace(":", "%3A").replace(",", "%2C")

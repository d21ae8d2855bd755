"""The report of a run in four formats: text, JSON, GitHub annotations and SARIF."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuc.diagnostics.report.terminal import PLAIN, Style

if TYPE_CHECKING:
    from gpuc.diagnostics.report.result import Report

FORMATS = ("text", "json", "github", "sarif")


def render(form: str, report: Report, style: Style = PLAIN) -> str:
    """Returns the report in one of FORMATS, with a line break at the end. Only the format text has a style.

    Raises:
        KeyError: for an unknown format.
    """
    match form:
        case "text":
            from gpuc.diagnostics.report import text

            return text.render(report, style)
        case "json":
            from gpuc.diagnostics.report import json_report

            return json_report.render(report)
        case "github":
            from gpuc.diagnostics.report import github

            return github.render(report)
        case "sarif":
            from gpuc.diagnostics.report import sarif

            return sarif.render(report)
    raise KeyError(form)

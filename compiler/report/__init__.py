"""What the user reads about a run, in the format asked for."""

from __future__ import annotations

from compiler.report.result import Diagnostic, Report

FORMATS = ("text", "json", "github", "sarif")

__all__ = ["FORMATS", "Diagnostic", "Report", "render"]


def render(format: str, report: Report, *, colour: bool = False) -> str:  # noqa: A002
    """The report in one of FORMATS, ending in a line break; only text has colour.

    Raises:
        KeyError: for an unknown format.
    """
    match format:
        case "text":
            from compiler.report import text

            return text.render(report, colour)
        case "json":
            from compiler.report import json_report

            return json_report.render(report)
        case "github":
            from compiler.report import github

            return github.render(report)
        case "sarif":
            from compiler.report import sarif

            return sarif.render(report)
    raise KeyError(format)

"""Prints the findings of a command in four formats: text, JSON, GitHub annotations and SARIF."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpuc.diagnostics.report.result import Report
    from gpuc.diagnostics.report.terminal import Style

_MODULES = {"text": "text", "json": "json_report", "github": "github", "sarif": "sarif"}
FORMATS = tuple(_MODULES)


def render(form: str, report: "Report", style: "Style | None" = None) -> str:
    """Returns a report in one of FORMATS, with a line break at the end. The style applies only to the format text.

    Raises:
        KeyError: for an unknown format.
    """
    module = import_module(f"gpuc.diagnostics.report.{_MODULES[form]}")
    text: str = module.render(report, style) if style and form == "text" else module.render(report)
    return text

"""The reports of plans: text, Markdown for a comment, and JSON."""

from gpuc.diagnostics.report.terminal import PLAIN, Style
from gpuc.plan.planner import Plans
from gpuc.plan.report import json_report, markdown, text


def render(form: str, plans: Plans, style: Style = PLAIN) -> str:
    """Returns the report in a format, with a line break at the end."""
    reports = {"json": json_report.render, "markdown": markdown.render}
    return reports[form](plans) if form in reports else text.render(plans, style)

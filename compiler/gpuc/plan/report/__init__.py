"""The reports of plans: text, Markdown for a comment, and JSON."""

from gpuc.diagnostics.report.printer import printed
from gpuc.diagnostics.report.terminal import PLAIN, Style
from gpuc.plan.planner import Plans
from gpuc.plan.report import comment, json_report
from gpuc.plan.report.parts import text_blocks


def render(form: str, plans: Plans, style: Style = PLAIN) -> str:
    """Returns the report in a format, with a line break at the end."""
    match form:
        case "json":
            return json_report.render(plans)
        case "markdown":
            return comment.render(plans)
    return printed(text_blocks(plans), style)

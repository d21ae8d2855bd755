"""The reports of `gpuc plan` and `gpuc diff`: text, Markdown for a comment on a pull request, and JSON."""

from gpuc.diagnostics.report.printer import printed
from gpuc.diagnostics.report.terminal import PLAIN, Style
from gpuc.plan.planner import Plans
from gpuc.plan.report import comment, json_report
from gpuc.plan.report.parts import text_blocks


def render(form: str, plans: Plans, style: Style = PLAIN) -> str:
    """Returns the report in a format: "json", "markdown" (a comment), or for any other `form` plain text."""
    match form:
        case "json":
            return json_report.render(plans)
        case "markdown":
            return comment.render(plans)
    return printed(text_blocks(plans), style)

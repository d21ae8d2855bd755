"""The reports of plans: text, Markdown for a comment, and JSON."""

from __future__ import annotations

from gpuc.diagnostics.report.terminal import PLAIN, Style
from gpuc.plan.plans import Plans


def render(form: str, plans: Plans, style: Style = PLAIN) -> str:
    """Returns the report in a format, with a line break at the end."""
    if form == "json":
        from gpuc.plan.report.json_report import render as render_json

        return render_json(plans)
    if form == "markdown":
        from gpuc.plan.report.markdown import render as render_markdown

        return render_markdown(plans)
    from gpuc.plan.report.text import render as render_text

    return render_text(plans, style)

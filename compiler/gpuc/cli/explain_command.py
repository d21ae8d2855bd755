"""`gpuc explain`: a rule, a field of the spec, or the list of rules."""

import re

from gpuc.diagnostics.report.console import write_stdout

_RULE = re.compile(r"[A-Za-z]{2,4}-?\d+")


def run_explain(subject: str | None = None) -> None:
    """Prints the explanation of a rule or of a field of the spec; the list of rules for None."""
    write_stdout(explanation(subject))


def explanation(subject: str | None) -> str:
    """Returns the explanation of a rule id or of the path of a field; the list of rules for None.

    Raises:
        UsageError: when no rule has the id, or when the spec has no field at the path.
    """
    from gpuc.diagnostics.report.explain import explain, listing

    if subject is None:
        return listing()
    if _RULE.fullmatch(subject):
        return explain(subject)
    from gpuc.spec.reference_text import explain_field

    return explain_field(subject)

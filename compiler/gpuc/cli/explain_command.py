"""`gpuc explain`: explains a rule, a field of the spec or an annotation, or lists all rules."""

import re

from gpuc.diagnostics.report.console import write_stdout

_RULE = re.compile(r"[A-Za-z]{2,4}-?\d+")


def run_explain(subject: str | None = None) -> None:
    """Prints the explanation of a rule, a field of the spec or an annotation. For None, prints the list of rules."""
    write_stdout(explanation(subject))


def explanation(subject: str | None) -> str:
    """Returns the explanation of a rule id, the path of a field or an annotation. For None, returns the list of rules.

    Raises:
        UsageError: when no rule has the id, or when the spec has no field at the path.
    """
    from gpuc.diagnostics.report.explain import explain, listing

    if subject is None:
        return listing()
    if _RULE.fullmatch(subject):
        return explain(subject)
    if "/" in subject:
        from gpuc.spec.annotation_text import explain_annotation

        return explain_annotation(subject)
    from gpuc.spec.reference_text import explain_field

    return explain_field(subject)

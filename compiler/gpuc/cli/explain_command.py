"""`gpuc explain`: a rule, a field of the spec, an annotation, or the list of rules."""

import re

from gpuc.diagnostics.report.console import write_stdout

_RULE = re.compile(r"[A-Za-z]{2,4}-?\d+")


def run_explain(subject: str | None = None) -> None:
    """Prints the explanation of a rule, of a field of the spec or of an annotation; the list of rules for None."""
    write_stdout(explanation(subject))


def explanation(subject: str | None) -> str:
    """Returns the explanation of a rule id, of the path of a field or of an annotation; the list of rules for None.

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

"""Reads the file policy.yaml of a policy, and reports all mistakes in the file."""

from collections.abc import Iterable
from typing import Any

from gpuc.diagnostics.finding import Finding, StageError
from gpuc.policy.policy_checks import check_definitions, check_use
from gpuc.policy.policy_expressions import check_expressions
from gpuc.policy.policy_file import PolicyFile
from gpuc.source import Source, source_of
from gpuc.source.document import compose
from gpuc.spec.parse import parse_as


def check_policy_file(
    text: str, file: str, subjects: dict[str, Any], denied: Iterable[str]
) -> tuple[Source | None, list[Finding]]:
    """Returns the content of a policy.yaml, and all findings about it. If it has an error, the content is None.

    Args:
        text: the text of policy.yaml.
        file: the path of policy.yaml for the findings.
        subjects: the subjects of subjects.yaml by name.
        denied: the names of the denied examples that create an object.
    """
    node, remarks = compose(text, file)
    if node is None:
        return None, list(remarks)
    source = source_of(node, file)
    try:
        policy = parse_as(PolicyFile, source)
        shared = subjects.get(policy.subject or "", {}).get("variables", {})
        found = [
            *check_definitions(policy, source, subjects, denied),
            *check_use(policy, shared),
            *check_expressions(policy, source, text, shared),
        ]
    except StageError as error:
        found = list(error.findings)
    findings = [*remarks, *map(source.located, found)]
    return None if any(finding.is_error for finding in findings) else source, findings

"""Reads the policy.yaml of a policy, and reports all mistakes in it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from gpuc.diagnostics.finding import Finding, StageError
from gpuc.policy.policy_checks import check_definitions, check_use
from gpuc.policy.policy_expressions import check_expressions
from gpuc.policy.policy_file import PolicyFile
from gpuc.source import Source, source_of
from gpuc.source.document import compose
from gpuc.spec.parse import parse_as


@dataclass(frozen=True)
class CheckedPolicyFile:
    """A policy.yaml after all checks."""

    source: Source | None
    """The content with its positions; None if the text is not YAML."""
    findings: tuple[Finding, ...]

    @property
    def has_errors(self) -> bool:
        return any(finding.is_error for finding in self.findings)


def check_policy_file(text: str, file: str, subjects: dict[str, Any], denied: Iterable[str]) -> CheckedPolicyFile:
    """Returns the content of a policy.yaml with all findings about it.

    Args:
        text: the text of policy.yaml.
        file: the path of policy.yaml for the findings.
        subjects: the subjects of subjects.yaml by name.
        denied: the titles of the denied examples that create an object.
    """
    node, remarks = compose(text, file)
    if node is None:
        return CheckedPolicyFile(None, remarks)
    source = source_of(node, file)
    try:
        policy = parse_as(PolicyFile, source)
    except StageError as error:
        return CheckedPolicyFile(source, (*remarks, *map(source.located, error.findings)))
    shared = subjects.get(policy.subject or "", {}).get("variables", {})
    found = [
        *check_definitions(policy, source, subjects, denied),
        *check_use(policy, shared),
        *check_expressions(policy, source, text, shared),
    ]
    return CheckedPolicyFile(source, (*remarks, *map(source.located, found)))

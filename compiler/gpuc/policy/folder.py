"""Reads the policy.yaml of a policy, and reports all mistakes in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpuc.diagnostics.finding import Finding, StageError
from gpuc.policy.examples import created_titles
from gpuc.policy.library import VERDICTS, read_yaml
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


def library_errors(sources: Path) -> Iterator[str]:
    """Yields a sentence for each mistake in the folders of the library policies.

    Args:
        sources: the folder that contains subjects.yaml and the folders of the policies.
    """
    subjects = read_yaml(sources / "subjects.yaml")
    for folder in sorted(entry for entry in sources.iterdir() if entry.is_dir()):
        files = ("policy.yaml", *(f"{verdict}.yaml" for verdict in VERDICTS))
        missing = [file for file in files if not (folder / file).is_file()]
        yield from (f"policies/{folder.name}/{file} is missing" for file in missing)
        if not missing:
            denied = created_titles((folder / "denied.yaml").read_text(encoding="utf-8"))
            text = (folder / "policy.yaml").read_text(encoding="utf-8")
            checked = check_policy_file(text, f"policies/{folder.name}/policy.yaml", subjects, denied)
            yield from (f"{finding.mark}: {finding.message}" for finding in checked.findings)

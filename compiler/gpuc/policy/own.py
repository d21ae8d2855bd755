"""The policies of a fleet, in the folders of policies/. gpuc uses them in addition to the policies of its library.

If a folder has the name of a library policy, the policy of the fleet replaces the library policy.
"""

from __future__ import annotations

import os
from pathlib import Path

from gpuc.diagnostics.finding import Finding, Mark, Severity, StageError, declare_rule
from gpuc.policy.folder import policy_errors
from gpuc.policy.library import Policy, is_shipped, policy_of, subjects
from gpuc.source.document import compose
from gpuc.source.encoding import text_of
from gpuc.source.layers import is_within
from gpuc.source.node import PlainData

BROKEN = declare_rule(
    "POL102", Severity.ERROR, "A policy.yaml of the fleet cannot be read.",
    "The policy would not exist in the cluster, although the repository contains it.",
)  # fmt: skip
FOLDER = "policies"


def own_policies(root: Path) -> dict[str, Policy]:
    """Returns the policies of a fleet by name, sorted, without identical copies of library policies.

    The result is empty if the fleet has no folder policies/.

    Raises:
        StageError: with all findings in the policy.yaml files.
    """
    own: dict[str, Policy] = {}
    findings: list[Finding] = []
    for name in _names(root):
        file = f"{FOLDER}/{name}/policy.yaml"
        try:
            if not is_within(root / file, root / FOLDER):
                raise ValueError("the file is outside of policies/")
            if not is_shipped(name, (root / file).read_bytes()):
                own[name] = _policy(root, name, file)
        except StageError as error:
            findings += error.findings
        except (ValueError, TypeError, AttributeError) as error:
            findings.append(BROKEN.at((), f"{file}: {error}", mark=Mark(file, 1, 1)))
    if findings:
        raise StageError(findings)
    return own


def _names(root: Path) -> list[str]:
    try:
        entries = sorted(entry.name for entry in os.scandir(root / FOLDER) if entry.is_dir())
    except OSError:
        return []
    return [name for name in entries if (root / FOLDER / name / "policy.yaml").is_file()]


def _policy(root: Path, name: str, file: str) -> Policy:
    text, _ = text_of(root / file, file)
    node, findings = compose(text, file)
    errors = [finding for finding in findings if finding.is_error]
    if errors or node is None:
        raise StageError(errors)
    policy = PlainData().add(node)
    if errors_in_keys := list(policy_errors(name, policy, subjects())):
        raise ValueError("; ".join(errors_in_keys))
    return policy_of(name, policy)

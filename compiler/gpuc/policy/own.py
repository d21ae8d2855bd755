"""Own policies of a fleet, in folders below policies/. They are used in addition to the library of gpuc.

A folder with the name of a library policy replaces that policy, unless its policy.yaml is identical.
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
    """Return the own policies of a fleet by name, sorted. Empty if there is no folder policies/.

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
        except StageError as stop:
            findings += stop.findings
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
    if wrong := list(policy_errors(name, policy, subjects())):
        raise ValueError("; ".join(wrong))
    return policy_of(name, policy)

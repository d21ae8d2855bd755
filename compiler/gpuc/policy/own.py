"""Reads the policies of a fleet from the folders in policies/. They apply in addition to the policies of gpuc.

If a folder has the name of a policy of gpuc, the policy of the fleet replaces the policy of gpuc.
"""

import os
import re
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from gpuc.diagnostics.finding import Finding, Mark, StageError
from gpuc.policy import rule_of
from gpuc.policy.library import VERDICTS, Policy, is_shipped, policies, policy_of, subjects
from gpuc.source import Source
from gpuc.source.encoding import text_of
from gpuc.source.layers import is_within

BROKEN = rule_of("POL102")
NAME = rule_of("POL008")
NO_EXAMPLES = rule_of("POL107")
FOLDER = "policies"
_NAME = re.compile(r"[a-z]([a-z0-9-]*[a-z0-9])?")
_NAME_MAX = 40
_RESERVED = "default"
"""The key of the default stage in the spec."""


class OwnPolicy(Struct, frozen=True):
    """A policy of the fleet that has no errors, with the positions of the values in its policy.yaml."""

    policy: Policy
    source: Source


def own_policies(root: Path) -> tuple[dict[str, OwnPolicy], list[Finding]]:
    """Reads the policies of a fleet. The result is empty if the fleet has no folder policies/.

    Returns:
        The policies without errors, sorted by name, without identical copies of policies of gpuc; and all findings.
    """
    own: dict[str, OwnPolicy] = {}
    findings: list[Finding] = []
    for name in _names(root):
        try:
            policy, found = _read(root, name)
        except StageError as error:
            findings += error.findings
            continue
        findings += found
        if policy:
            own[name] = policy
    return own, [*findings, *_equal_kinds(own)]


def policy_path(name: str, file: str = "policy.yaml") -> str:
    """Returns the path of a file in the folder of a policy, relative to the root of the fleet."""
    return f"{FOLDER}/{name}/{file}"


def _names(root: Path) -> list[str]:
    try:
        entries = [entry.name for entry in os.scandir(root / FOLDER) if entry.is_dir()]
    except OSError:
        return []
    return sorted(name for name in entries if not name.startswith("."))


def _read(root: Path, name: str) -> tuple[OwnPolicy | None, list[Finding]]:
    """Returns the policy in a folder, or None if it has errors or is a copy of a library policy, and the findings.

    Raises:
        StageError: when policy.yaml cannot be read.
    """
    file = policy_path(name)
    start = Mark(file, 1, 1)
    if findings := _wrong_name(name, start):
        return None, findings
    if not (root / file).exists():
        message = f"{FOLDER}/{name} has no policy.yaml"
        return None, [BROKEN.at((), message, mark=start)]
    text, remarks = _text(root, file)
    if is_shipped(name, (root / file).read_bytes()):
        return None, []
    return _checked(root, name, text, remarks)


def _checked(root: Path, name: str, text: str, findings: list[Finding]) -> tuple[OwnPolicy | None, list[Finding]]:
    from gpuc.policy.examples import created_titles
    from gpuc.policy.folder import check_policy_file

    examples = dict.fromkeys(VERDICTS, "")
    files = {verdict: policy_path(name, f"{verdict}.yaml") for verdict in VERDICTS}
    missing = [file for file in files.values() if not os.path.lexists(root / file)]
    for verdict in (verdict for verdict, file in files.items() if file not in missing):
        try:
            examples[verdict], remarks = _text(root, files[verdict])
            findings += remarks
        except StageError as error:
            findings += error.findings
    if missing:
        message = f"the policy is without examples: {' and '.join(missing)} not found"
        findings.append(NO_EXAMPLES.at((), message, mark=Mark(policy_path(name), 1, 1)))
    source, found = check_policy_file(text, policy_path(name), subjects(), created_titles(examples["denied"]))
    findings += found
    return OwnPolicy(policy_of(name, source.tree, examples), source) if source else None, findings


def _text(root: Path, file: str) -> tuple[str, list[Finding]]:
    """Returns the text of a file of a policy, and the findings about the text.

    Raises:
        StageError: when the file is outside of policies/, or cannot be read.
    """
    if not is_within(root / file, root / FOLDER):
        raise StageError([BROKEN.at((), f"{file} is outside of {FOLDER}/", mark=Mark(file, 1, 1))])
    return text_of(root / file, file)


def _wrong_name(name: str, mark: Mark) -> list[Finding]:
    if name == _RESERVED:
        message = f"the policy has the name {name}, the key of the default stage in the spec; expected another name"
        return [NAME.at((), message, mark=mark)]
    if not _NAME.fullmatch(name) or len(name) > _NAME_MAX:
        choices = f"use at most {_NAME_MAX} lower-case letters, digits and hyphens, and start with a letter"
        valid = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
        fix = f"rename the folder to {valid}" if _NAME.fullmatch(valid) and len(valid) <= _NAME_MAX else ""
        return [NAME.at((), f"{name} cannot be the name of a policy: {choices}", fix=fix, mark=mark)]
    return []


def _equal_kinds(own: Mapping[str, OwnPolicy]) -> list[Finding]:
    """Returns a finding for each policy whose ConstraintTemplate has the name of another one.

    The name of a ConstraintTemplate is the kind of its constraints in lower case, so hyphens make no difference.
    """
    first: dict[str, str] = {policy.kind.lower(): name for name, policy in policies().items()}
    findings = []
    for name, entry in own.items():
        other = first.setdefault(entry.policy.kind.lower(), name)
        if other != name:
            message = f"policy {name} and policy {other} have the same ConstraintTemplate; expected another name"
            findings.append(NAME.at((), message, mark=Mark(policy_path(name), 1, 1)))
    return findings

"""A mistake in the folder of a policy is reported with the policy, the key and the allowed names."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from gpuc.policy.folder import library_errors
from gpuc.policy.library import SOURCES

NAME = "cost-label"
ALLOWED = "the keys are title, why, subject, kinds, variables, validations, parameters, settings, sample, violations"


@pytest.fixture
def policies(tmp_path: Path) -> Path:
    shutil.copytree(SOURCES / NAME, tmp_path / NAME)
    shutil.copy(SOURCES / "subjects.yaml", tmp_path)
    return tmp_path


def test_the_folders_of_gpuc_are_right() -> None:
    assert list(library_errors(SOURCES)) == []


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("kinds:\n", "kind:\n", ['unknown key "kind", did you mean "kinds"', "keys kinds and subject are missing"]),
        ("title:", "owner: a\ntitle:", [f'unknown key "owner", {ALLOWED}']),
        ("why: >-", "because: >-", [f'unknown key "because", {ALLOWED}', "key why is missing"]),
        ("kinds:\n", "subject: pods\nkinds:\n", ["the subject pods does not exist; subjects.yaml has pod"]),
        ("from:", "fact:", ['costCentre: unknown key "fact"', "costCentre: the key from is missing"]),
        ("variables.params.", "variables.parms.", ["no expression above declares the variable parms"] * 2),
        ("  key: '", "  spare: '\"a\"'\n  key: '", ["no expression reads the variable spare"]),
        (
            "{example: A",
            "{example: Another",
            ['"Another longer value', '"The cost centre of another tenant"; "A longer value'],
        ),
    ],
)  # fmt: skip
def test_a_mistake_in_a_policy_is_named(policies: Path, old: str, new: str, expected: list[str]) -> None:
    file = policies / NAME / "policy.yaml"
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))
    errors = list(library_errors(policies))
    assert all(error.startswith(f"policy {NAME}") for error in errors)
    assert all(words in "\n".join(errors) for words in expected), errors


@pytest.mark.parametrize("file", ["policy.yaml", "allowed.yaml", "denied.yaml"])
def test_a_missing_file_is_named(policies: Path, file: str) -> None:
    (policies / NAME / file).unlink()
    assert list(library_errors(policies)) == [f"policy {NAME}: the file policies/{NAME}/{file} is missing"]

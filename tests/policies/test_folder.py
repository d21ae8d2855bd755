"""A mistake in the folder of a library policy is reported at its line."""

import shutil
from pathlib import Path

import pytest

from tests.derive.policies import SOURCES, library_errors

NAME = "cost-label"


@pytest.fixture
def policies(tmp_path: Path) -> Path:
    shutil.copytree(SOURCES / NAME, tmp_path / NAME)
    shutil.copy(SOURCES / "subjects.yaml", tmp_path)
    return tmp_path


def test_the_folders_of_gpuc_are_right() -> None:
    assert list(library_errors(SOURCES)) == []


def test_a_mistake_in_a_policy_has_a_line(policies: Path) -> None:
    file = policies / NAME / "policy.yaml"
    file.write_text(file.read_text().replace("variables.params.costCentre ||", "variables.params.cost ||"))
    (error,) = library_errors(policies)
    assert error.startswith(f"policies/{NAME}/policy.yaml:23:68: the policy has no parameter cost; expected one of")


@pytest.mark.parametrize("file", ["policy.yaml", "allowed.yaml", "denied.yaml"])
def test_a_missing_file_is_named(policies: Path, file: str) -> None:
    (policies / NAME / file).unlink()
    assert list(library_errors(policies)) == [f"policies/{NAME}/{file} is missing"]

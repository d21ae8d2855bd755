"""Mistakes in `aws` commands are found with botocore's models."""

from __future__ import annotations

import shlex

import pytest

from tests.readme.aws import aws_problems
from tests.tables import table

_TABLE = table(__file__, "cases.yaml")


@pytest.mark.parametrize("command", _TABLE["aws correct"])
def test_a_correct_command_has_no_problem(command: str) -> None:
    assert list(aws_problems(shlex.split(command))) == []


@pytest.mark.parametrize("command", _TABLE["aws wrong"])
def test_a_wrong_command_has_a_problem(command: str) -> None:
    found = list(aws_problems(shlex.split(command)))
    assert any(_TABLE["aws wrong"][command] in problem for problem in found), found


def test_a_command_in_a_sentence_can_omit_parameters() -> None:
    assert list(aws_problems(["eks", "delete-pod-identity-association"], is_mention=True)) == []
    assert list(aws_problems(["eks", "delete-pod-identity-asociation"], is_mention=True)) != []

"""Mistakes in commands of helm, eksctl, argocd, curl and jq are found; a program that only reads is recognized."""

from __future__ import annotations

import shlex
import shutil

import pytest

from tests.readme.check import only_reads
from tests.readme.other_programs import curl_problems, jq_problems, subcommand_problems
from tests.tables import table

_TABLE = table(__file__, "cases.yaml")


@pytest.mark.parametrize("command", _TABLE["other correct"])
def test_a_correct_command_has_no_problem(command: str) -> None:
    assert list(subcommand_problems(shlex.split(command))) == []


@pytest.mark.parametrize("command", _TABLE["other wrong"])
def test_a_wrong_command_has_a_problem(command: str) -> None:
    found = list(subcommand_problems(shlex.split(command)))
    assert any(_TABLE["other wrong"][command] in problem for problem in found), found


@pytest.mark.parametrize("arguments", _TABLE["other addresses"])
def test_curl_reads_pinned_addresses(arguments: str) -> None:
    found, problem = list(curl_problems(arguments.split())), _TABLE["other addresses"][arguments]
    assert any(problem in text for text in found) if problem else found == []


@pytest.mark.skipif(shutil.which("jq") is None, reason="jq is not installed")
def test_jq_programs_compile() -> None:
    assert list(jq_problems(["-r", ".items[] | select(.a == 1) | [.b, .c // 2] | @tsv"])) == []
    assert "syntax error" in next(jq_problems(["-r", ".items[] | select(.a == 1"]))
    assert "jq needs a program" in next(jq_problems(["-r"]))
    assert "not defined" in next(jq_problems([".items | selec(.a)"]))


@pytest.mark.parametrize("text", _TABLE["other reading"])
def test_a_reading_program_is_recognized(text: str) -> None:
    assert only_reads(text)


@pytest.mark.parametrize("text", _TABLE["other writing"])
def test_a_writing_program_is_recognized(text: str) -> None:
    assert not only_reads(text)

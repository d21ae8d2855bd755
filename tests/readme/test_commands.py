"""Mistakes in commands are found, and a program that only reads is recognized."""

import shlex
import shutil

import pytest

from tests.conformance.readmes import substituted
from tests.readme.aws import aws_problems
from tests.readme.check import only_reads
from tests.readme.jsonpath import column_paths, template_paths
from tests.readme.kubectl import kubectl_problems
from tests.readme.other_programs import curl_problems, jq_problems, subcommand_problems
from tests.tables import table

TABLE = table(__file__, "cases.yaml")
CHECKS = {"kubectl": kubectl_problems, "aws": aws_problems, "other": subcommand_problems}


@pytest.mark.parametrize(
    ("program", "command"), [(program, command) for program in CHECKS for command in TABLE[f"{program} correct"]]
)
def test_a_correct_command_has_no_problem(program: str, command: str) -> None:
    assert list(CHECKS[program](shlex.split(command))) == []


@pytest.mark.parametrize(
    ("program", "command"), [(program, command) for program in CHECKS for command in TABLE[f"{program} wrong"]]
)
def test_a_wrong_command_has_a_problem(program: str, command: str) -> None:
    found = list(CHECKS[program](shlex.split(command)))
    assert any(TABLE[f"{program} wrong"][command] in problem for problem in found), found


def test_an_aws_command_in_a_sentence_can_omit_parameters() -> None:
    assert list(aws_problems(["eks", "delete-pod-identity-association"], is_mention=True)) == []
    assert list(aws_problems(["eks", "delete-pod-identity-asociation"], is_mention=True)) != []


@pytest.mark.parametrize(("text", "problem"), TABLE["objects"].items())
def test_the_standard_input_has_objects(text: str, problem: str) -> None:
    found = list(kubectl_problems(["apply", "-f", "-"], text))
    assert problem in found[0] if problem else found == []


def test_templates_name_the_fields() -> None:
    template = '{range .items[?(@.status.nodeName=="N")]}{.metadata.name}{"\\n"}{end}'
    paths = ("items.*.status.nodeName", "items.*", "items.*.metadata.name")
    assert template_paths(template) == [tuple(path.split(".")) for path in paths]
    paths = ("metadata labels a.b/c", "x * type", "x * y")
    columns = r"A:.metadata.labels.a\.b/c,B:.x[?(@.type=='T')].y"
    assert column_paths(columns) == [tuple(path.split()) for path in paths]


@pytest.mark.parametrize("arguments", TABLE["other addresses"])
def test_curl_reads_pinned_addresses(arguments: str) -> None:
    found, problem = list(curl_problems(arguments.split())), TABLE["other addresses"][arguments]
    assert any(problem in text for text in found) if problem else found == []


@pytest.mark.skipif(shutil.which("jq") is None, reason="jq is not installed")
def test_jq_programs_compile() -> None:
    assert list(jq_problems(["-r", ".items[] | select(.a == 1) | [.b, .c // 2] | @tsv"])) == []
    assert "syntax error" in next(jq_problems(["-r", ".items[] | select(.a == 1"]))
    assert "jq needs a program" in next(jq_problems(["-r"]))
    assert "not defined" in next(jq_problems([".items | selec(.a)"]))


@pytest.mark.parametrize("kind", ["reading", "writing"])
def test_a_program_that_only_reads_is_recognized(kind: str) -> None:
    assert {text for text in TABLE[f"other {kind}"] if only_reads(text) != (kind == "reading")} == set()


@pytest.mark.parametrize(("text", "expected"), TABLE["placeholders"].items())
def test_the_conformance_test_puts_names_in_place_of_placeholders(text: str, expected: str) -> None:
    assert substituted(text, {"NODE": "node-1", "NAME": "name-1", "NAMESPACE": "space-1"}) == expected

"""Reports of rehearsals contain every test case and problem with its line, in every format."""

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from gpuc.cli.commands import declared
from gpuc.cli.main import run_command
from gpuc.cli.parser import Parser
from gpuc.diagnostics.finding import Mark
from gpuc.diagnostics.usage import UsageError
from gpuc_rehearsal.outcome import Outcome
from gpuc_rehearsal.result import LISTED, REPORT, LocatedResult, Problem, Result, outcome_text, summary
from gpuc_rehearsal.runner import matches
from gpuc_rehearsal.suites import Case, CaseResult
from tests.conftest import ROOT

REFUSED = Outcome("refused", by="Kueue", message="insufficient quota")
BOUND = Outcome("bound", flavor="h100", pool="h100", nodes=2, instance_types=("p5.48xlarge",))


def located(name: str, expected: Outcome, actual: Outcome, line: int = 7, request: str = "") -> LocatedResult:
    case = Case("gangs", name, ("spec", "queues"), expected, lambda context: actual, "research", "h100", request)
    return LocatedResult(Mark("specs/prod.yaml", line, 3), CaseResult(case, actual, 1.25))


def result(*cases: LocatedResult, problems: tuple[Problem, ...] = ()) -> Result:
    return Result(
        cluster="prod",
        file="specs/prod.yaml",
        objects=12,
        problems=problems,
        cases=cases,
        substitutions=("Nodes are simulated.",),
        not_tested=("Network traffic.",),
        seconds={"start": 3.0, "test cases": 2.0},
        memory_mib=900,
        kubeconfig=Path("kubeconfig"),
    )


GOOD = located("two nodes", BOUND, BOUND)
BAD = located("a third | node", REFUSED, BOUND, line=9)
UNHEALTHY = Problem("unhealthy", Mark("specs/prod.yaml", 4, 1), "NodePool h100", "Ready=False")


def test_a_rehearsal_is_good_only_without_differences_and_problems() -> None:
    assert result(GOOD).is_good
    assert not result(GOOD, BAD).is_good and not result(GOOD, problems=(UNHEALTHY,)).is_good


def test_cases_with_the_same_request_to_the_same_queue_count_once() -> None:
    again = located("again", BOUND, BOUND, request="16 GPUs")
    assert result(again, located("and again", BOUND, BOUND, request="16 GPUs"), GOOD).distinct == 2
    assert result(GOOD, BAD).refusals == 1


@pytest.mark.parametrize("form", ["text", "markdown"])
def test_reports_contain_expected_and_actual_outcomes_with_lines_of_the_spec(form: str) -> None:
    text = REPORT.render(form, [result(GOOD, BAD, problems=(UNHEALTHY,))])
    for part in (
        "specs/prod.yaml:9",
        "refused by Kueue: insufficient quota",
        "bound, flavor h100, pool h100, 2 nodes, p5.48xlarge",
        "specs/prod.yaml:4",
        "Ready=False",
        "Nodes are simulated.",
        "Network traffic.",
        summary(result(GOOD, BAD, problems=(UNHEALTHY,))),
    ):
        assert part in text


def test_a_case_that_is_as_expected_only_alone_is_listed_and_good() -> None:
    row = result(GOOD._replace(result=replace(GOOD.result, beside=Outcome("pending", message="no host is free"))))
    text = REPORT.render("text", [row])
    assert row.is_good and "As expected only alone" in text and "together  pending: no host is free" in text
    assert json.loads(REPORT.render("json", [row]))["clusters"][0]["cases"][0]["beside"]["verdict"] == "pending"


def test_many_cases_are_counted_by_line_and_differences_are_listed() -> None:
    cases = [located(f"case {number}", BOUND, BOUND) for number in range(LISTED)]
    text = REPORT.render("text", [result(*cases, BAD)])
    assert "case 3" not in text
    assert "a third | node" in text
    assert "case 3" not in REPORT.render("markdown", [result(*cases, BAD)])
    (row,) = (line for line in text.splitlines() if line.startswith("specs/prod.yaml:7"))
    assert row.split() == ["specs/prod.yaml:7", "gangs", str(LISTED), "0", str(LISTED), "1.2"]


def test_json_contains_every_case_with_its_place() -> None:
    document = json.loads(REPORT.render("json", [result(GOOD, BAD, problems=(UNHEALTHY,))]))
    (cluster,) = document["clusters"]
    assert not cluster["good"]
    assert cluster["counts"] == {"cases": 2, "distinct": 2, "refusals": 1, "different": 1, "problems": 1}
    assert [(case["file"], case["line"], case["passed"]) for case in cluster["cases"]] == [
        ("specs/prod.yaml", 7, True),
        ("specs/prod.yaml", 9, False),
    ]
    assert cluster["cases"][1]["expected"]["message"] == "insufficient quota"
    assert cluster["problems"][0]["object"] == "NodePool h100"


def test_an_admitting_component_is_not_reported() -> None:
    assert outcome_text(Outcome("admitted", by="policy", message="be careful")) == "admitted: be careful"


@pytest.mark.parametrize(
    ("pattern", "is_match"),
    [("gangs", True), ("two nodes", True), ("gangs/two*", True), ("two*", False), ("borrowing", False)],
)
def test_a_pattern_is_a_glob_for_suite_and_name_or_a_part_of_it(pattern: str, is_match: bool) -> None:
    assert matches(GOOD.result.case, pattern) is is_match


@pytest.mark.parametrize("option", ["--case", "--scene"])
def test_patterns_select_cases_by_the_option_and_by_its_old_name(option: str) -> None:
    options = Parser(declared("rehearse")).parse(["prod-use1", option, "gangs", option, "efa"])
    assert options["case"] == ["gangs", "efa"]


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["--keep"], "name one spec"),
        (["--crds", "nowhere"], "nowhere is not a folder"),
        (["--format", "sarif"], "sarif"),
        (["prod-use1", "--output", "github=x"], "text, json, markdown"),
        (["prod-use1"], "gpuc tools"),
        (["prod-use1", "--charts", "."], "--charts needs --argocd"),
        (["prod-use1", "--argocd", "--case", "full node"], "remove --case"),
        (["prod-use1", "--argocd", "--charts", "nowhere"], "nowhere is not a folder"),
        (["--workloads", "."], "--workloads needs --from"),
        (["--from", "HEAD", "--case", "x"], "remove --case"),
        (["--from", "HEAD", "--argocd"], "remove --argocd"),
    ],
)
def test_invalid_arguments_are_reported_in_one_sentence(
    arguments: list[str], error: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("GPUC_TOOLS", str(tmp_path))
    with pytest.raises(UsageError) as raised:
        run_command(["rehearse", *arguments])
    assert error in str(raised.value)
    assert "\n" not in str(raised.value)


def test_findings_of_a_spec_with_errors_are_printed_and_no_rehearsal_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "specs").mkdir()
    (tmp_path / "specs/lab.yaml").write_text("apiVersion: gpuc.dev/v1alpha1\nkind: Cluster\nmetadata: {name: lab}\n")
    monkeypatch.chdir(tmp_path)
    assert run_command(["rehearse", "lab"]) == 1
    assert "specs/lab.yaml" in capsys.readouterr().out

"""The report formats for programs: JSON, GitHub annotations and SARIF."""

import json
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from gpuc.diagnostics.finding import RULES, Finding, Mark, Related, Rule, Severity
from gpuc.diagnostics.report import FORMATS, render
from gpuc.diagnostics.report.github import escape_data, escape_property
from gpuc.diagnostics.report.result import Report

OVER = Finding(
    "ZZZ001",
    Severity.ERROR,
    "33 promised: 100% wrong,\nat most 32",
    ("spec", "pools", "train", "instances", 0),
    Mark("specs/a b.yaml", 3, 13),
    fix="32",
    cluster="prod",
)
LINKED = replace(
    OVER,
    related=(
        Related("queue a: 30", ("spec", "queues", "a"), Mark("specs/prod.yaml", 7, 5)),
        Related("on the line of the finding", mark=Mark("specs/a b.yaml", 3, 20)),
    ),
)
NOTE = Finding("ZZZ002", Severity.INFO, "left over", cluster="dev")


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    rule = Rule("ZZZ001", Severity.ERROR, "Promises too much.", "Pods wait.", "https://example.com/a doc")
    monkeypatch.setitem(RULES, "ZZZ001", rule)


@pytest.mark.parametrize("form", FORMATS)
def test_every_format_is_the_same_for_findings_in_any_order(form: str) -> None:
    one = Report(findings=(OVER, NOTE, replace(OVER, cluster="dev")))
    other = Report(findings=(replace(OVER, cluster="dev"), NOTE, OVER))
    assert render(form, one) == render(form, other)


def test_json_has_every_key_for_every_finding() -> None:
    report = json.loads(render("json", Report(findings=(OVER, NOTE), clusters=("dev", "prod"), unchanged=7)))
    assert report["version"] == 2
    assert report["counts"] == {"error": 1, "warning": 0, "info": 1}
    assert report["files"] == {"written": [], "removed": [], "unchanged": 7}
    assert report["findings"] == [
        {
            "id": "ZZZ001",
            "severity": "error",
            "message": OVER.message,
            "file": "specs/a b.yaml",
            "line": 3,
            "column": 13,
            "path": ["spec", "pools", "train", "instances", 0],
            "clusters": ["prod"],
            "fix": "32",
            "related": [],
        },
        {
            "id": "ZZZ002",
            "severity": "info",
            "message": "left over",
            "file": None,
            "line": None,
            "column": None,
            "path": [],
            "clusters": ["dev"],
            "fix": None,
            "related": [],
        },
    ]


@pytest.mark.usefixtures("known")
def test_github_names_file_line_and_rule_with_errors_first() -> None:
    first = replace(NOTE, mark=Mark("specs/a.yaml", 1, 2))
    report = Report(findings=(first, replace(OVER, cluster="dev"), OVER), repository_prefix="infra/")
    assert render("github", report) == (
        "::error file=infra/specs/a b.yaml,line=3,col=13,title=ZZZ001 Promises too much."
        "::33 promised: 100%25 wrong,%0Aat most 32%0Afix: 32%0Ain dev, prod\n"
        "::notice file=infra/specs/a.yaml,line=1,col=2,title=ZZZ002::left over\n"
    )


def test_json_has_related_places() -> None:
    (finding,) = json.loads(render("json", Report(findings=(LINKED,))))["findings"]
    assert finding["related"] == [
        {"message": "queue a: 30", "file": "specs/prod.yaml", "line": 7, "column": 5, "path": ["spec", "queues", "a"]}
    ]


def test_github_names_related_places_before_the_fix() -> None:
    shown = render("github", Report(findings=(LINKED,), repository_prefix="infra/"))
    assert shown.endswith("at most 32%0Asee infra/specs/prod.yaml:7: queue a: 30%0Afix: 32\n")


def test_sarif_has_related_locations() -> None:
    log = json.loads(render("sarif", Report(findings=(LINKED,), repository_prefix="infra/")))
    (location,) = log["runs"][0]["results"][0]["relatedLocations"]
    assert location["message"] == {"text": "queue a: 30"}
    assert location["physicalLocation"]["artifactLocation"]["uri"] == "infra/specs/prod.yaml"
    assert location["physicalLocation"]["region"] == {"startLine": 7, "startColumn": 5}


def _unescaped(text: str) -> str:
    """Reverses the escaping, as GitHub's runner does."""
    for code, char in (("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ","), ("%25", "%")):
        text = text.replace(code, char)
    return text


@given(st.text(st.one_of(st.sampled_from("%\r\n:,02A5D3C"), st.characters())))
def test_escaping_is_undone_by_the_runner_and_breaks_no_command(text: str) -> None:
    value, data = escape_property(text), escape_data(text)
    assert _unescaped(value) == text
    assert not set(value) & set("\r\n:,")
    assert not set(data) & set("\r\n")
    assert _unescaped(data) == text


@given(st.text(), st.text())
def test_a_hostile_finding_is_one_command(message: str, file: str) -> None:
    finding = replace(OVER, message=message, fix="", mark=Mark(file, 1, 1))
    shown = render("github", Report(findings=(finding,)))
    assert shown.startswith("::error ")
    assert shown.count("\n") == 1
    properties, _, data = shown.removeprefix("::error ").removesuffix("\n").partition("::")
    assert [_unescaped(part.partition("=")[2]) for part in properties.split(",")] == [
        file,
        "1",
        "1",
        "ZZZ001",
    ]
    assert _unescaped(data) == message


@pytest.mark.usefixtures("known")
def test_sarif_results_point_at_their_rule_and_place() -> None:
    log = json.loads(render("sarif", Report(findings=(NOTE, OVER), repository_prefix="infra/")))
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    rules, results = run["tool"]["driver"]["rules"], run["results"]
    assert [rules[result["ruleIndex"]]["id"] for result in results] == ["ZZZ001", "ZZZ002"]
    assert [result["level"] for result in results] == ["error", "note"]
    assert rules[0]["help"]["text"] == "Promises too much.\n\nPods wait.\n\nhttps://example.com/a doc"
    assert rules[0]["helpUri"] == "https://example.com/a"
    place = results[0]["locations"][0]
    assert unquote(place["physicalLocation"]["artifactLocation"]["uri"]) == "infra/specs/a b.yaml"
    assert place["physicalLocation"]["region"] == {"startLine": 3, "startColumn": 13}
    assert place["logicalLocations"] == [{"fullyQualifiedName": "spec.pools.train.instances[0]"}]
    assert results[1]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "infra/specs/dev.yaml"


def _fingerprints(*findings: Finding) -> list[str]:
    log = json.loads(render("sarif", Report(findings=findings)))
    return [result["partialFingerprints"]["primaryLocationLineHash"] for result in log["runs"][0]["results"]]


def test_sarif_fingerprints_outlive_moved_lines_and_differ_between_findings() -> None:
    moved = replace(OVER, mark=Mark("specs/a b.yaml", 99, 1), message="34 promised")
    elsewhere = replace(OVER, path=("spec", "pools", "other"))
    assert _fingerprints(OVER) == _fingerprints(moved)
    assert len(set(_fingerprints(OVER, moved, elsewhere, NOTE))) == 4


@pytest.mark.usefixtures("known")
def test_sarif_satisfies_its_schema() -> None:
    model = pytest.importorskip("pydantic_sarif.model", reason="pydantic-sarif, the SARIF schema, is not installed")
    log = render("sarif", Report(findings=(LINKED, NOTE, replace(NOTE, cluster="")), clusters=("dev", "prod")))
    model.StaticAnalysisResultsFormatSarifVersion210JsonSchema.model_validate_json(log)
    empty = json.loads(render("sarif", Report()))
    checked = model.StaticAnalysisResultsFormatSarifVersion210JsonSchema.model_validate(empty)
    assert checked.runs[0].results == []

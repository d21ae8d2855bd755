"""The report of a rehearsal: what is told, where it points, and that nothing of it is lost in any format."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gpuc.cli.rehearse_command import matches, run_rehearsal
from gpuc.diagnostics.finding import Mark
from gpuc.diagnostics.usage import UsageError
from gpuc.rehearse.outcome import Outcome
from gpuc.rehearse.play import Played
from gpuc.rehearse.report import LISTED, closing, outcome_text, render
from gpuc.rehearse.result import Result, Tried, Trouble
from gpuc.rehearse.scenes import Scene
from tests.conftest import ROOT

REFUSED = Outcome("refused", by="Kueue", words="insufficient quota")
BOUND = Outcome("bound", flavor="h100", pool="h100", nodes=2, instance_types=("p5.48xlarge",))


def tried(name: str, expected: Outcome, seen: Outcome, line: int = 7, request: str = "") -> Tried:
    scene = Scene("gangs", name, ("spec", "queues"), expected, lambda rehearsal: seen, "research", "h100", request)
    return Tried(Mark("specs/prod.yaml", line, 3), Played(scene, seen, 1.25))


def result(*scenes: Tried, troubles: tuple[Trouble, ...] = ()) -> Result:
    return Result(
        cluster="prod",
        file="specs/prod.yaml",
        objects=12,
        troubles=troubles,
        tried=scenes,
        substitutions=("Nodes are simulated.",),
        unjudged=("Traffic.",),
        seconds={"start": 3.0, "scenes": 2.0},
        memory_mib=900,
        kubeconfig=Path("kubeconfig"),
    )


GOOD = tried("two nodes", BOUND, BOUND)
BAD = tried("a third | node", REFUSED, BOUND, line=9)
SICK = Trouble("sick", Mark("specs/prod.yaml", 4, 1), "NodePool h100", "Ready=False")


def test_a_rehearsal_is_good_only_without_a_difference_and_without_trouble() -> None:
    assert result(GOOD).is_good
    assert not result(GOOD, BAD).is_good
    assert not result(GOOD, troubles=(SICK,)).is_good


def test_scenes_that_ask_the_same_of_the_same_queue_count_once() -> None:
    again = tried("again", BOUND, BOUND, request="16 GPUs")
    assert result(again, tried("and again", BOUND, BOUND, request="16 GPUs"), GOOD).distinct == 2
    assert result(GOOD, BAD).refusals == 1


@pytest.mark.parametrize("form", ["text", "markdown"])
def test_people_read_what_was_expected_and_seen_at_the_line_that_it_proves(form: str) -> None:
    text = render(form, [result(GOOD, BAD, troubles=(SICK,))])
    for told in (
        "specs/prod.yaml:9",
        "refused by Kueue: insufficient quota",
        "bound, flavor h100, pool h100, 2 nodes, p5.48xlarge",
        "specs/prod.yaml:4",
        "Ready=False",
        "Nodes are simulated.",
        "Traffic.",
        closing(result(GOOD, BAD, troubles=(SICK,))),
    ):
        assert told in text


def test_many_scenes_are_counted_by_line_and_those_that_differ_are_still_told() -> None:
    scenes = [tried(f"scene {number}", BOUND, BOUND) for number in range(LISTED)]
    text = render("text", [result(*scenes, BAD)])
    assert "scene 3" not in text
    assert "a third | node" in text
    (row,) = (line for line in text.splitlines() if line.startswith("specs/prod.yaml:7"))
    assert row.split() == ["specs/prod.yaml:7", "gangs", str(LISTED), "0", str(LISTED), "1.2"]


def test_a_cell_of_markdown_cannot_end_its_column() -> None:
    (row,) = (line for line in render("markdown", [result(BAD)]).splitlines() if "third" in line)
    assert row.replace("\\|", "").count("|") == 7


def test_control_characters_of_a_programs_words_are_shown_and_not_sent() -> None:
    loud = Outcome("refused", by="Kueue", words="\x1b[2Jgone")
    assert "\x1b" not in render("text", [result(tried("loud", BOUND, loud))])


def test_programs_read_every_scene_with_its_place() -> None:
    document = json.loads(render("json", [result(GOOD, BAD, troubles=(SICK,))]))
    (cluster,) = document["clusters"]
    assert not cluster["good"]
    assert cluster["counts"] == {"scenes": 2, "distinct": 2, "refusals": 1, "different": 1, "troubles": 1}
    assert [(each["file"], each["line"], each["agrees"]) for each in cluster["scenes"]] == [
        ("specs/prod.yaml", 7, True),
        ("specs/prod.yaml", 9, False),
    ]
    assert cluster["scenes"][1]["expected"]["words"] == "insufficient quota"
    assert cluster["troubles"][0]["object"] == "NodePool h100"


def test_who_took_something_is_not_told_as_a_refuser() -> None:
    assert outcome_text(Outcome("admitted", by="policy", words="be careful")) == "admitted: be careful"


@pytest.mark.parametrize(
    ("pattern", "meant"),
    [("gangs", True), ("two nodes", True), ("gangs/two*", True), ("two*", False), ("borrowing", False)],
)
def test_a_pattern_is_a_glob_over_family_and_name_or_a_part_of_it(pattern: str, meant: bool) -> None:
    assert matches(GOOD.played.scene, pattern) is meant


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--keep"], "name one spec"),
        (["--crds", "nowhere"], "nowhere is not a folder"),
        (["--format", "sarif"], "sarif"),
        (["prod-use1", "--output", "github=x"], "text, json, markdown"),
        (["prod-use1"], "make tools"),
    ],
)
def test_what_cannot_be_carried_out_is_one_sentence(
    words: list[str], complaint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("GPUC_TOOLS", str(tmp_path))
    with pytest.raises(UsageError) as error:
        run_rehearsal(words)
    assert complaint in str(error.value)
    assert "\n" not in str(error.value)


def test_a_spec_with_errors_is_told_about_and_not_rehearsed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "specs").mkdir()
    (tmp_path / "specs/lab.yaml").write_text("apiVersion: gpuc.dev/v1alpha1\nkind: Cluster\nmetadata: {name: lab}\n")
    monkeypatch.chdir(tmp_path)
    assert run_rehearsal(["lab"]) == 1
    assert "specs/lab.yaml" in capsys.readouterr().out

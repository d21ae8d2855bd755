"""Edits of specs for transitions, and the comparison of predictions with observations."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from gpuc.pipeline.stages import CompiledSpec
from gpuc.plan.impact import IMPACTS, Impact, Level, Prediction
from gpuc_rehearsal.transition.filling import fillings
from gpuc_rehearsal.transition.result import NodeOutcome, ObjectOutcome, Observed, QueueOutcome, WorkloadOutcome
from tests.conformance.transition_agreement import (
    AGREES,
    DISAGREES,
    NOT_SIMULATED,
    Comparison,
    Observation,
    compare,
    observations_of,
)
from tests.conformance.transition_edits import edit_rows, example_state, leaf_edits, made_edit, merged
from tests.conformance.transition_record import Record, record, recorded
from tests.conformance.transition_report import RECORD, WITHOUT_TRANSITION, Row, markdown, problems
from tests.conftest import example
from tests.pipeline.memory import source

CLUSTER = "prod-use1"
CI = [name for name, row in edit_rows().items() if row.get("ci")]
DRIFTED = Observation(("nodes of pool dev-l4",), "replaced", "NodePoolDrifted")


@pytest.fixture(scope="module")
def before() -> CompiledSpec:
    spec = example_state(CLUSTER).compiled()
    assert isinstance(spec, CompiledSpec)
    return spec


def impact(subject: str, outcome: str) -> Impact:
    return Impact("IMP101", Level.DISRUPTS, "", "", (), None, False, predicts=(Prediction(subject, outcome),))


def compared(before: CompiledSpec, impacts: list[Impact], *observations: Observation) -> Comparison:
    return compare(impacts, observations, before, before, fillings(before.cluster))


def test_ten_edits_are_for_ci() -> None:
    assert len(edit_rows()) >= 100
    assert len(CI) >= 10
    assert len(list(leaf_edits())) > 300


@pytest.mark.share(4)
@pytest.mark.parametrize("name", CI)
def test_the_edits_of_ci_compile_and_change_objects(name: str, before: CompiledSpec) -> None:
    after = made_edit(name).after.compiled()
    assert isinstance(after, CompiledSpec), after
    assert [manifest.document() for manifest in after.synced] != [manifest.document() for manifest in before.synced]


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in edit_rows() if name not in CI])
def test_all_edits_compile(name: str) -> None:
    edit = made_edit(name)
    for state in (edit.before, edit.after):
        assert not isinstance(problem := state.compiled(), str), problem


def test_a_layer_replaces_lists_and_removes_keys() -> None:
    assert merged({"a": {"b": [1], "c": 2}, "d": 3}, {"a": {"b": [4], "c": None}}) == {"a": {"b": [4]}, "d": 3}
    with pytest.raises(KeyError):
        merged({}, {"a": None})


def test_outcomes_become_observations_of_the_words_of_predictions() -> None:
    observed = Observed(
        nodes=[
            NodeOutcome("n", "dev-l4", "waiting", "Karpenter", "NodePoolDrifted; a budget"),
            NodeOutcome("m", "x", "kept"),
        ],
        workloads=[WorkloadOutcome("research-lab", "Job", "j", "research", "dev-l4", "drained", "Karpenter", "gone")],
        objects=[ObjectOutcome("Role", "ns", "edit", "refused", "no"), ObjectOutcome("Role", "ns", "view", "applied")],
        queues=[QueueOutcome("ClusterQueue", "", "research-cpu", "inactive", "x")],
    )
    cluster = example(CLUSTER)
    found = [(observation.subjects, observation.outcome) for observation in observations_of(observed, cluster, cluster)]
    assert found == [
        (("nodes of pool dev-l4",), "replaced"),
        (("workloads of queue research", "workloads of namespace research-lab"), "evicted"),
        (("object Role ns/edit",), "refused"),
        (("queue research", "queue research-cpu"), "inactive"),
    ]


def test_a_disturbance_with_a_prediction_agrees(before: CompiledSpec) -> None:
    assert compared(before, [impact("nodes of pool dev-l4", "replaced")], DRIFTED).verdict == AGREES
    assert compared(before, []).verdict == AGREES


def test_a_disturbance_without_a_prediction_disagrees(before: CompiledSpec) -> None:
    for impacts in ([], [impact("nodes of pool dev-l4", "left")]):
        result = compared(before, impacts, DRIFTED)
        assert result.verdict == DISAGREES
        assert result.problems[0] == "no impact predicts nodes of pool dev-l4: replaced (NodePoolDrifted)"
    left = Observation(("object NodePool dev-l4",), "left", "", must_be_predicted=False)
    assert compared(before, [], left).verdict == AGREES


def test_a_prediction_that_is_not_seen_disagrees(before: CompiledSpec) -> None:
    result = compared(before, [impact("workloads of queue research", "waiting")])
    assert result.problems == ["not seen: IMP101 predicts workloads of queue research: waiting"]


def test_evicted_work_is_not_created_anew(before: CompiledSpec) -> None:
    subject = "workloads of queue research"
    evicted = Observation((subject,), "evicted", "the LocalQueue is stopped")
    result = compared(before, [impact(subject, "evicted"), impact(subject, "waiting")], evicted)
    assert result.verdict == AGREES
    assert "evicts the work" in result.not_simulated[0]


def test_a_prediction_without_nodes_or_work_is_not_simulated(before: CompiledSpec) -> None:
    for subject in ("nodes of pool none", "workloads of queue none", "workloads of namespace none"):
        assert compared(before, [impact(subject, "replaced")]).verdict == NOT_SIMULATED


def test_a_changed_node_class_is_not_simulated(before: CompiledSpec) -> None:
    tree = merged(source(CLUSTER).tree, {"spec": {"pools": {"general": {"eks": {"rootVolume": "300Gi"}}}}})
    after = example_state(CLUSTER, tree).compiled()
    assert isinstance(after, CompiledSpec)
    result = compare([impact("nodes of pool general", "replaced")], (), before, after, fillings(before.cluster))
    assert result.verdict == NOT_SIMULATED
    assert "EC2NodeClass" in result.not_simulated[0]


def test_the_report_counts_and_documents_disagreements(before: CompiledSpec) -> None:
    edit = next(map(made_edit, edit_rows()))
    good = Row(edit, compared(before, []), seconds=3)
    bad = Row(replace(edit, name="b"), compared(before, [], DRIFTED))
    known = Row(replace(edit, name="c", upstream="karpenter drift.go"), compared(before, [], DRIFTED))
    report = markdown([good, bad, known])
    assert "| prod-use1 | 1 | 0 | 2 | 0 | 0 |" in report
    assert "karpenter drift.go" in report
    assert "Not run" not in report
    assert "Not run: d, e." in markdown([good], ["d", "e"])
    assert problems([good, bad, known]) == [f"b: {bad.comparison.problems[0]}"]


def test_recorded_observations_are_read_back(before: CompiledSpec, tmp_path: Path) -> None:
    edit = next(map(made_edit, edit_rows()))
    row = Row(edit, compared(before, [], DRIFTED), (DRIFTED,), 3.5)
    record(tmp_path / "record.json", [row])
    assert recorded(tmp_path / "record.json") == {edit.name: Record((DRIFTED,), 3.5)}


def test_every_impact_was_in_a_transition() -> None:
    made = RECORD.read_text(encoding="utf-8").split("## Impacts")[1].split("## Edits")[0]
    rows = set(re.findall(r"^\| (IMP\d{3}) ", made, re.MULTILINE))
    assert {check.rule.id for check in IMPACTS.discover()} - rows == set(WITHOUT_TRANSITION)

"""The report of a run of Argo CD has all failures and gaps in every format."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gpuc_rehearsal.argocd.checks import Failure
from gpuc_rehearsal.argocd.result import (
    REPORT,
    ApplicationRow,
    EditResult,
    SyncResult,
    application_rows,
    late_edits,
    summary,
)
from gpuc_rehearsal.argocd.timeline import State, Timeline

GROWS = EditResult(
    "a pool grows", "max: 1 -> 2", "NodePool general: limits", 3.46, 60, ("pools: operation runs (2.0 s)",)
)
NEVER = EditResult(
    "a tenant is renamed", "a -> b", "Namespace a", None, 60, ("tenants: waiting for deletion | x (58.0 s)",)
)
SKIPPED = EditResult("a queue is removed", "", "", None, 60, skipped="TEN003 a tenant without a queue")
FAILURE = Failure("wave", "prod-kueue", "Application prod-crd", "wave 10 began before wave -20", 12.34)


def result(*edits: EditResult, failures: tuple[Failure, ...] = ()) -> SyncResult:
    return SyncResult(
        cluster="prod",
        file="specs/prod.yaml",
        hub="",
        rows=(
            ApplicationRow("prod-root", None, 0.1, 80.0, 80.0),
            ApplicationRow("prod-kueue", 10, 20.0, 30.0, None, "Synced Degraded"),
        ),
        first_sync_s=None,
        regressions=2,
        edits=edits,
        failures=failures,
        not_rendered={"prod-efa": "chart efa is missing"},
        substitutions=("Nodes are simulated.",),
        not_tested=(),
        seconds={"first sync": 90.0},
        memory_mib=900,
        kubeconfig=Path("kubeconfig"),
    )


def test_a_failure_makes_a_run_bad_and_a_skipped_edit_does_not() -> None:
    assert result(GROWS, SKIPPED).is_good
    assert not result(GROWS, failures=(FAILURE,)).is_good
    assert [failure.application for failure in late_edits([GROWS, NEVER, SKIPPED], 99)] == ["a tenant is renamed"]


@pytest.mark.parametrize("form", ["text", "markdown"])
def test_text_and_markdown_have_times_waits_and_failures(form: str) -> None:
    text = REPORT.render(form, [result(GROWS, NEVER, SKIPPED, failures=(FAILURE,))])
    for part in (
        "prod-root", "Synced Degraded", "a pool grows", "3.5", "pools: operation runs (2.0 s)", "never",
        "TEN003 a tenant without a queue", "wave 10 began before wave -20", "12.3", "prod-efa: chart efa is missing",
        "Nodes are simulated.", summary(result(GROWS, NEVER, SKIPPED, failures=(FAILURE,))),
    ):  # fmt: skip
        assert part in text


def test_json_has_numbers() -> None:
    (read,) = json.loads(REPORT.render("json", [result(GROWS, NEVER, failures=(FAILURE,))]))["argocd"]
    assert read["counts"] == {"applications": 2, "good": 1, "edits": 2, "late": 1, "failures": 1}
    assert [edit["seconds"] for edit in read["edits"]] == [3.46, None]
    assert read["failures"][0]["at"] == 12.34
    assert read["applications"][1] == {
        "name": "prod-kueue", "wave": 10, "created_s": 20.0, "synced_s": 30.0, "good_s": None,
        "note": "Synced Degraded",
    }  # fmt: skip


def test_rows_count_from_the_root_in_the_order_of_waves() -> None:
    states = [
        State(10, "prod-root", "prod", None, "OutOfSync", "Missing", "Running"),
        State(12, "prod-kueue", "prod", 10, "OutOfSync", "Missing", "Running"),
        State(12, "prod-crd", "prod", -20, "Synced", "Progressing", "Succeeded"),
        State(14, "prod-crd", "prod", -20, "Synced", "Healthy", "Succeeded"),
        State(12, "other-crd", "other", -20),
    ]
    found = application_rows(Timeline(states), "prod", 10)
    assert [row.name for row in found] == ["prod-root", "prod-crd", "prod-kueue"]
    assert found[1] == ApplicationRow("prod-crd", -20, 2, 2, 4)
    assert found[2].good_s is None
    assert found[2].note == "OutOfSync Missing Running"

"""The report of a run of Argo CD has all failures and gaps in every format."""

import json

import pytest

from gpuc_rehearsal.argocd.checks import Failure
from gpuc_rehearsal.argocd.result import REPORT, ApplicationRow, SyncResult, application_rows, summary
from gpuc_rehearsal.argocd.timeline import State, Timeline

FAILURE = Failure("wave", "prod-kueue", "Application prod-crd", "wave 10 began before wave -20", 12.34)


def result(*failures: Failure) -> SyncResult:
    return SyncResult(
        cluster="prod",
        file="specs/prod.yaml",
        hub="",
        names=frozenset(),
        began=0.0,
        rows=(
            ApplicationRow("prod-root", None, 0.1, 80.0, 80.0),
            ApplicationRow("prod-kueue", 10, 20.0, 30.0, None, "Synced Degraded"),
        ),
        regressions=2,
        failures=list(failures),
        not_rendered={"prod-efa": "chart efa is missing"},
        substitutions=("Nodes are simulated.",),
        seconds={"first sync": 90.0},
        memory_mib=900,
    )


@pytest.mark.parametrize("form", ["text", "markdown"])
def test_text_and_markdown_have_times_failures_and_gaps(form: str) -> None:
    text = REPORT.render(form, [result(FAILURE)])
    for part in (
        "prod-root", "Synced Degraded", "80.0", "wave 10 began before wave -20", "12.3",
        "prod-efa: chart efa is missing", "Nodes are simulated.", summary(result(FAILURE)),
    ):  # fmt: skip
        assert part in text


def test_json_has_numbers() -> None:
    assert json.loads(REPORT.render("json", [result()]))["argocd"][0]["good"]
    (read,) = json.loads(REPORT.render("json", [result(FAILURE)]))["argocd"]
    assert (read["good"], read["counts"]) == (False, {"applications": 2, "good": 1, "failures": 1})
    assert (read["failures"][0]["kind"], read["failures"][0]["at"]) == ("wave", 12.34)
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
    found = application_rows(Timeline(states).of_cluster("prod"), 10)
    assert [row.name for row in found] == ["prod-root", "prod-crd", "prod-kueue"]
    assert found[1] == ApplicationRow("prod-crd", -20, 2, 2, 4)
    assert found[2].good_s is None
    assert found[2].note == "OutOfSync Missing Running"

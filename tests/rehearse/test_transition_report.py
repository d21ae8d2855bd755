"""Reports of transitions list what changed, in every format."""

import json

import pytest

from gpuc_rehearsal.transition.result import (
    REPORT,
    NodeOutcome,
    ObjectOutcome,
    QueueOutcome,
    TransitionResult,
    WorkloadOutcome,
    summary,
)

RESULT = TransitionResult(
    cluster="prod",
    file="specs/prod.yaml",
    before="main",
    nodes=(NodeOutcome("n1", "h100", "kept"), NodeOutcome("n2", "h100", "waiting", "Karpenter", "NodePoolDrifted")),
    workloads=(
        WorkloadOutcome("ns", "Job", "a", "q", "h100", "kept"),
        WorkloadOutcome("ns", "Job", "b", "q", "h100", "waiting", "Kueue", "no | quota"),
    ),
    objects=(
        ObjectOutcome("NodePool", "", "h100", "applied"),
        ObjectOutcome("Role", "ns", "edit", "refused", "immutable"),
    ),
    queues=(
        QueueOutcome("LocalQueue", "ns", "q", "inactive", "Stopped", 2),
        QueueOutcome("ClusterQueue", "", "q", "active"),
    ),
    notes=("Nodes are simulated.",),
    seconds={"apply": 1.0, "observe": 2.4},
)


def test_the_summary_counts_the_outcomes() -> None:
    assert summary(RESULT) == (
        "prod: 2 nodes, 1 kept, 1 waiting; 2 workloads, 1 kept, 1 waiting; 2 objects, 1 applied, 1 refused; 3 s"
    )


@pytest.mark.parametrize("form", ["text", "markdown"])
def test_reports_list_only_what_changed(form: str) -> None:
    report = REPORT.render(form, [RESULT])
    for text in (
        "n2",
        "NodePoolDrifted",
        "Job ns/b",
        "Role ns/edit",
        "immutable",
        "LocalQueue ns/q",
        "Nodes are simulated.",
    ):
        assert text in report
    for text in ("n1", "Job ns/a", "NodePool h100", "ClusterQueue q"):
        assert text not in report


def test_the_json_report_has_a_version_and_every_outcome() -> None:
    report = json.loads(REPORT.render("json", [RESULT]))
    assert report["version"] == 1
    (cluster,) = report["clusters"]
    assert cluster["nodes"][0] == {"name": "n1", "pool": "h100", "outcome": "kept", "by": "", "reason": ""}
    assert [row["outcome"] for row in cluster["workloads"]] == ["kept", "waiting"]
    assert cluster["objects"][1]["message"] == "immutable"
    assert cluster["queues"][0]["workloads"] == 2

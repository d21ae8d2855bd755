"""The commands on the example cluster of existing nodes, as a user runs them."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from gpuc.cli.main import main
from tests.conftest import MACHINES

OF_A_CLOUD = re.compile(r"karpenter|\bec2\b|\baws\b|\beks\b|nodepool", re.IGNORECASE)
MIG = "nvidia.com/mig-3g.40gb"
TOLERATIONS = [
    {"key": "nvidia.com/gpu", "operator": "Exists"},
    {"key": "gpuc.dev/mode", "operator": "Equal", "value": "mig"},
]


def pod(resource: str, count: int, **spec: Any) -> dict[str, Any]:
    amounts = {"requests": {"cpu": "4", "memory": "40Gi"}, "limits": {"memory": "40Gi", resource: count}}
    return {"containers": [{"name": "main", "image": "registry.example.com/model:1", "resources": amounts}], **spec}


def job(gpus: int, pods: int = 1, **spec: Any) -> dict[str, Any]:
    labels = {"kueue.x-k8s.io/queue-name": "vision"}
    counts = {"suspend": True, "podReplacementPolicy": "Failed", "parallelism": pods, "completions": pods}
    template = {"spec": pod("nvidia.com/gpu", gpus, restartPolicy="Never", **spec)}
    metadata = {"name": "run", "namespace": "vision-train", "labels": labels}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": {**counts, "template": template}}


def serving(resource: str, replicas: int, tolerations: list[dict[str, str]]) -> dict[str, Any]:
    spec = pod(resource, 1, nodeSelector={"gpuc.dev/pool": "serve-h100"}, tolerations=tolerations)
    labels = {"app": "model", "cost-centre": "CC-2"}
    template = {"metadata": {"labels": labels}, "spec": spec}
    body = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    metadata = {"name": "model", "namespace": "speech-serving"}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": body}


@pytest.mark.share(4)
@pytest.mark.parametrize(
    ("workload", "expected"),
    [
        (job(8), "Result: the pods get nodes. main: 1 x dgx-h100 in node pool train-h100"),
        (job(8, pods=5), "Result: pending in Kueue. The quota of the ClusterQueue is too small."),
        (job(16), "Result: refused."),
        (job(1, nodeSelector={"gpuc.dev/pool": "train-h200"}), "nodeSelector gpuc.dev/pool is train-h200; the pools"),
        (serving(MIG, 3, TOLERATIONS), "Result: the pods get nodes. main: 1 x dgx-h100 in node pool serve-h100"),
        (serving(MIG, 17, TOLERATIONS), "the quota of the namespace is 16"),
        (serving("nvidia.com/mig-7g.80gb", 1, TOLERATIONS), "a device for which this tenant has no quota"),
        (serving(MIG, 1, TOLERATIONS[1:]), "NodeFeatureRule serve-h100, spec.rules[0].taints[0]"),
    ],
)
def test_trace(lab: Path, workload: dict[str, Any], expected: str, capsys: pytest.CaptureFixture[str]) -> None:
    (lab / "workload.yaml").write_text(json.dumps(workload))
    main(["trace", "lab-dc1", "-f", "workload.yaml"])
    text = capsys.readouterr().out
    assert expected in text
    assert not OF_A_CLOUD.findall(text)


@pytest.mark.share(2)
@pytest.mark.parametrize(
    "command", [["compile"], ["lint", "out/lab-dc1"], ["prerequisites", "lab-dc1"], ["check"]], ids=" ".join
)
def test_a_command_names_no_cloud(lab: Path, command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(command) == 0
    assert not OF_A_CLOUD.findall(capsys.readouterr().out)


def test_the_proof_of_isolation_holds(lab: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["isolation", "lab-dc1"]) == 0
    assert "The proof holds" in capsys.readouterr().out


def test_the_output_names_no_cloud() -> None:
    """The only word of a cloud is the resource of EFA, which policies refuse in every cluster."""
    files = [file for folder in ("out", "clusters") for file in (MACHINES / folder).rglob("*") if file.is_file()]
    assert len(files) > 50
    texts = {file: file.read_text().replace("vpc.amazonaws.com/efa", "") for file in files if file.name != "gpuc.lock"}
    assert {file.name: OF_A_CLOUD.findall(text) for file, text in texts.items() if OF_A_CLOUD.search(text)} == {}


@pytest.mark.share(4)
@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ('"gpu-a[01-04]"', '"gpu-a[01-03]", gpu-a09', ["IMP114", "IMP115"]),
        ("3g.40gb: 1, 2g.20gb: 1, 1g.10gb: 2", "3g.40gb: 1, 1g.10gb: 4", ["IMP118", "IMP120"]),
        ("topology: [host]\n", "topology: [host]\n      nodeLabels: {example.com/team: red}\n", ["IMP117"]),
        ("memory: 48Gi", "memory: 64Gi", []),
        ('kubernetes: "1.35"', 'kubernetes: "1.36"', ["IMP604"]),
        ('kubernetes: "1.35"', 'kubernetes: "1.34"', ["IMP612"]),
    ],
)
def test_plan(lab: Path, old: str, new: str, expected: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    spec = lab / "specs/lab-dc1.yaml"
    text = spec.read_text()
    assert old in text
    changed = text.replace(old, new)
    if "1g.10gb: 4" in new:
        changed = changed.replace("2g.20gb: 16, 1g.10gb: 32", "1g.10gb: 64")
    spec.write_text(changed)
    main(["plan", "--against", str(MACHINES)])
    report = capsys.readouterr().out
    assert sorted(set(re.findall(r"IMP(?:1[12]\d|604|612)", report))) == expected
    assert not OF_A_CLOUD.findall(report)


def test_plan_of_a_removed_cluster(lab: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (lab / "specs/lab-dc1.yaml").unlink()
    main(["plan", "--against", str(MACHINES)])
    report = capsys.readouterr().out
    assert "to free the nodes: kubectl delete nodefeaturerule" in report
    assert not OF_A_CLOUD.findall(report)

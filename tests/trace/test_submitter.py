"""The pod that submits a RayJob: KubeRay completes the default one (kuberay v1.6.2, GetDefaultSubmitterTemplate)."""

import json
from pathlib import Path
from typing import Any

import pytest

from gpuc.cli.main import main

HEAD = {
    "rayStartParams": {},
    "template": {"spec": {"containers": [{"name": "head", "image": "rayproject/ray:2.52.0"}]}},
}
CLUSTER = {"rayClusterSpec": {"headGroupSpec": HEAD}}
OWN = {"submitterPodTemplate": {"spec": {"restartPolicy": "Never", "containers": [{"name": "submit"}]}}}

WHOLE = {
    "submitterPodTemplate": {"spec": {"restartPolicy": "Never", "containers": [{"name": "submit", "image": "ray"}]}}
}


@pytest.mark.parametrize(
    ("spec", "sets", "failed"),
    [
        (CLUSTER, ["head", "submitter"], []),
        ({**CLUSTER, "submissionMode": "HTTPMode"}, ["head"], []),
        ({"clusterSelector": {"ray.io/cluster": "shared"}, **WHOLE}, ["submitter"], []),
        ({**CLUSTER, **OWN}, ["head", "submitter"], ["the required field image is missing"]),
    ],
)
def test_the_default_submitter_is_a_valid_pod(
    spec: dict[str, Any], sets: list[str], failed: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    metadata = {"name": "sweep", "namespace": "default"}
    job = {"apiVersion": "ray.io/v1", "kind": "RayJob", "metadata": metadata, "spec": {"entrypoint": "a.py", **spec}}
    (tmp_path / "job.json").write_text(json.dumps(job))
    main(["trace", "-f", str(tmp_path / "job.json"), str(tmp_path), "--format", "json"])
    report = json.loads(capsys.readouterr().out)
    (trace,) = report["traces"]
    assert list(trace["pods"]) == sets
    assert [step["message"] for step in trace["steps"] if step["verdict"] == "failed"] == failed

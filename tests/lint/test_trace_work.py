"""`gpuc trace -f`: the report names the step that stops a workload, and the change that helps."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from gpuc.cli.main import main
from tests.tables import table

pytestmark = pytest.mark.usefixtures("in_the_fleet")
QUEUE = "kueue.x-k8s.io/queue-name"
TRAIN = {"gpuc.dev/pool": "train-h100"}


SLICES = {"mig1g": "nvidia.com/mig-1g.10gb", "mig2g": "nvidia.com/mig-2g.20gb", "gpu": "nvidia.com/gpu"}


def container(requests: dict[str, Any] | None = None, **limits: Any) -> dict[str, Any]:
    wanted = {SLICES.get(name, name): value for name, value in limits.items()}
    resources = {"limits": wanted, **({"requests": requests} if requests is not None else {})}
    return {"name": "main", "image": "registry.example.com/a:1", "resources": resources}


def pod(*containers: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"restartPolicy": "Never", "containers": [*containers], "nodeSelector": TRAIN, **more}


def work(
    api: str,
    kind: str,
    spec: dict[str, Any],
    queue: str = "research",
    namespace: str = "research-train",
    rank: str = "",
) -> dict[str, Any]:
    labels = {QUEUE: queue, "kueue.x-k8s.io/priority-class": rank}
    named = {key: value for key, value in labels.items() if value}
    metadata = {"name": "run", "namespace": namespace, "labels": named}
    return {"apiVersion": api, "kind": kind, "metadata": metadata, "spec": spec}


def job(spec: dict[str, Any], pods: int = 1, notes: dict[str, str] | None = None, **more: Any) -> dict[str, Any]:
    template = {"metadata": {"annotations": notes or {}}, "spec": spec}
    numbers = {"parallelism": pods, "completions": pods, "podReplacementPolicy": "Failed"}
    return work("batch/v1", "Job", {**numbers, "template": template}, **more)


def traced(folder: Path, capsys: pytest.CaptureFixture[str], *objects: Any, where: str = "prod-use1") -> dict[str, Any]:
    """The report about the first workload of a file, and the exit code."""
    file = folder / "work.yaml"
    file.write_text(yaml.safe_dump_all(objects))
    code = main(["trace", "-f", str(file), where, "--format", "json"])
    found: dict[str, Any] = json.loads(capsys.readouterr().out)["traces"][0]
    last = next((step for step in found["steps"] if step["verdict"] == "failed"), None)
    assert code == (4 if found["verdict"] == "not judged" else int(last is not None))
    return {**found, "last": last or {"stage": "", "message": "", "fix": ""}}


FULL = container(gpu=8, cpu="100", memory="1Ti")
CASES, KINDS = (table(__file__, f"{name}.yaml") for name in ("stopped_work", "work_of_kinds"))


def written(work: dict[str, Any]) -> dict[str, Any]:
    """The Job of a case: its containers have requests, limits and other fields."""
    spec = {
        key: [{**container(row.get("requests"), **row.get("limits", {})), **row.get("more", {})} for row in value]
        if key.lower().endswith("containers")
        else value
        for key, value in work["pod"].items()
    }
    return job(pod(*spec.pop("containers"), **spec), **{key: value for key, value in work.items() if key != "pod"})


@pytest.mark.share(3)
@pytest.mark.parametrize("case", CASES)
def test_the_failing_step_and_what_to_change(case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stage, by, message, *fix = CASES[case]["stops"]
    found = traced(tmp_path, capsys, written(CASES[case]["work"]))
    last = found["last"]
    assert (last["stage"], found["by"]) == (stage, by)
    assert message in last["message"]
    assert "".join(fix) in (last["fix"] or "")


@pytest.mark.share(3)
@pytest.mark.parametrize("kind", KINDS["refused"])
def test_policies_refuse_gpus_of_kinds_that_kueue_does_not_manage(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """C4: no quota would count the GPUs of these kinds, with or without a queue label."""
    row = KINDS["refused"][kind]
    found = traced(tmp_path, capsys, work(row["apiVersion"], kind, row["spec"]))
    stage, by, message = row["stops"]
    assert (found["last"]["stage"], found["by"]) == (stage, by)
    assert message in found["last"]["message"]


PARTS = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: any}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: all}
spec:
  namespaceSelector: {}
  resourceGroups:
    - coveredResources: [nvidia.com/gpu, cpu]
      flavors: [{name: any, resources: [{name: nvidia.com/gpu, nominalQuota: 16}, {name: cpu, nominalQuota: 100}]}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: research, namespace: research-train}
spec: {clusterQueue: all}
"""


@pytest.fixture
def files(tmp_path: Path) -> str:
    """Returns a part of a cluster without the configuration of Kueue."""
    folder = tmp_path / "tree"
    folder.mkdir()
    (folder / "queues.yaml").write_text(PARTS)
    return str(folder)


GPUS = {"restartPolicy": "Never", "containers": [container(gpu=8, cpu="1")]}


@pytest.mark.parametrize("row", KINDS["counted"])
def test_replicas_are_counted_as_kueue_counts_them(
    row: dict[str, Any], tmp_path: Path, files: str, capsys: pytest.CaptureFixture[str]
) -> None:
    found = traced(tmp_path, capsys, work(row["apiVersion"], row["kind"], row["spec"]), where=files)
    assert row["says"] in found["last"]["message"]
    assert bool(row["says"]) == bool(found["last"]["stage"])


def test_pods_without_requests_are_admitted(tmp_path: Path, files: str, capsys: pytest.CaptureFixture[str]) -> None:
    work = job({"restartPolicy": "Never", "containers": [{"name": "a", "image": "b"}]})
    found = traced(tmp_path, capsys, work, where=files)
    assert (found["verdict"], found["notJudged"][-1]) == ("not judged", "node pool: the input has no node pool")
    assert "the pods request no resources" in [step["message"] for step in found["steps"]]


def test_the_label_of_a_cronjobs_jobs_counts(tmp_path: Path, files: str, capsys: pytest.CaptureFixture[str]) -> None:
    template = {"metadata": {"labels": {QUEUE: "research"}}, "spec": {"template": {"spec": GPUS}}}
    labelled = work("batch/v1", "CronJob", {"schedule": "0 4 * * *", "jobTemplate": template}, queue="")
    assert traced(tmp_path, capsys, labelled, where=files)["queue"] == "research"
    bare = work(
        "batch/v1", "CronJob", {"schedule": "0 4 * * *", "jobTemplate": {"spec": template["spec"]}}, queue="research"
    )
    assert "has no label kueue.x-k8s.io/queue-name" in traced(tmp_path, capsys, bare, where=files)["bypass"]


def test_limits_are_requests_before_the_defaults_of_limit_ranges(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Kueue counts the default for the template of a job; the pod that is made asks for its limit."""
    found = traced(tmp_path, capsys, job(pod(container(gpu=8, cpu="192", memory="16Gi"))))
    assert found["pods"]["main"]["requests"]["cpu"] == 192_000
    assert found["last"]["stage"] == "node"


def test_a_workload_without_a_queue_gets_the_default(
    tmp_path: Path, files: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (Path(files) / "queues.yaml").write_text(PARTS.replace("name: research, n", "name: default, n"))
    found = traced(tmp_path, capsys, job(GPUS, queue=""), where=files)
    assert (found["verdict"], found["bypass"]) == ("not judged", None)


def test_an_unreadable_part_is_reported_and_the_exit_code_is_not_0(
    tmp_path: Path, files: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "work.yaml"
    file.write_text(yaml.safe_dump(job(GPUS)))
    assert main(["trace", "-f", str(file), files]) == 4
    (Path(files) / "more.yaml").write_text("a: [\n")
    capsys.readouterr()
    assert main(["trace", "-f", str(file), files]) == 4
    printed = capsys.readouterr()
    assert "Result: not judged. No step fails, but gpuc could not judge" in printed.out
    assert f"{files}/more.yaml:2:1: not YAML" in printed.err
    file.write_text("kind: [\n")
    assert main(["trace", "-f", str(file), files]) == 2
    assert "it contains no object that can be read" in capsys.readouterr().err


def test_the_result_is_the_last_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "work.yaml"
    file.write_text(yaml.safe_dump(job(pod(FULL), pods=20)))
    assert main(["trace", "-f", str(file), "prod-use1"]) == 1
    *_, failed, at, fix, end = capsys.readouterr().out.splitlines()
    assert failed.split()[:2] == ["failed", "quota"]
    assert at.strip().startswith(
        "ClusterQueue research, spec.resourceGroups[0].flavors[0].resources, specs/prod-use1.yaml:"
    )
    assert fix.strip() == "fix: run at most 16 such pods at the same time in flavor train-h100"
    assert end == "Result: pending in Kueue. The quota of the ClusterQueue is too small."

"""`gpuc trace`: the reports for described pods and for workloads of files."""

import json
from pathlib import Path

import pytest

from gpuc.cli.main import run_command
from gpuc.diagnostics.usage import UsageError
from tests.conftest import ROOT

pytestmark = pytest.mark.usefixtures("in_the_fleet")
TRAINING = """
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata:
  name: run
  namespace: research-train
  labels: {kueue.x-k8s.io/queue-name: research}
spec:
  replicatedJobs:
    - name: master
      template: &job
        spec:
          podReplacementPolicy: Failed
          template:
            spec:
              nodeSelector: {gpuc.dev/pool: train-h100}
              restartPolicy: Never
              containers:
                - name: pytorch
                  image: registry.example.com/pytorch:1
                  envFrom: [{configMapRef: {name: nccl-efa-large}}]
                  resources:
                    limits: {nvidia.com/gpu: 8, cpu: "100", memory: 1Ti}
    - name: worker
      replicas: WORKERS
      template: *job
"""


def traced(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    code = run_command(["trace", *words])
    return code, capsys.readouterr().out


def test_a_pod_gets_its_node(capsys: pytest.CaptureFixture[str]) -> None:
    code, output = traced(capsys, "--queue", "research", "--pool", "train-h100", "--gpus", "8", "prod-use1")
    assert code == 0
    assert output.endswith(
        "Result: the pods get nodes. main: 1 x p5.48xlarge in node pool train-h100, flavor train-h100.\n"
    )
    assert "LocalQueue research-train/research, spec.clusterQueue, specs/prod-use1.yaml:" in output
    assert "100m cpu, 256Mi memory, 1Gi ephemeral-storage" in output.replace("8 nvidia.com/gpu, ", ""), "LimitRange"


@pytest.mark.share(3)
@pytest.mark.parametrize(
    ("words", "stage", "by"),
    [
        ("--queue research --pool train-h100 --gpus 8 --pods 17", "quota", "Kueue"),
        ("--queue research --pool train-h100 --gpus 9", "policies", "policy"),
        ("--queue research --pool train-h100 --gpus 8 --cpu 192", "node", "Karpenter"),
        ("--queue research --pool dev-l4 --gpus 1", "policies", "policy"),
        ("--queue research --pool train-h100 --gpus 1 --resource example.com/tpu=1", "resources", "Kueue"),
        ("--queue research --gpus 1 --pool lab-h100 --priority nobody", "policies", "policy"),
        ("--queue research --gpus 1 --pool lab-h100 --namespace search-serving", "policies", "policy"),
        ("--queue research --pool train-h100 --gpus 8 --memory 99Ti", "quota", "Kueue"),
    ],
)
def test_the_step_that_does_not_let_it_through(
    capsys: pytest.CaptureFixture[str], words: str, stage: str, by: str
) -> None:
    code, output = traced(capsys, *words.split(), "prod-use1", "--format", "json")
    (found,) = json.loads(output)["traces"]
    assert code == 1
    assert found["by"] == by
    assert {step["stage"] for step in found["steps"] if step["verdict"] == "failed"} == {stage}
    assert found["steps"][-1]["verdict"] == "failed"


@pytest.mark.parametrize(("workers", "code"), [(15, 0), (16, 1)])
def test_a_training_job_counts_all_of_its_pods(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, workers: int, code: int
) -> None:
    """Master and workers share 128 GPUs: sixteen pods of eight, and not one more."""
    file = tmp_path / "job.yaml"
    file.write_text(TRAINING.replace("WORKERS", str(workers)), encoding="utf-8")
    actual, output = traced(capsys, "-f", str(file), "prod-use1")
    assert actual == code
    assert f"{file}:2:1" in output
    refusal = "previously considered podsets requests (8) + current podset request (128) > maximum capacity (128)"
    assert (refusal in output) == bool(code)


def test_files_of_objects_are_shown_at_their_lines(capsys: pytest.CaptureFixture[str]) -> None:
    code, output = traced(capsys, "--queue", "search", "--pool", "train-h100", "--gpus", "1", "out/prod-use1")
    assert code == 0
    text = (ROOT / "out/prod-use1/kueue/queues/search.yaml").read_text(encoding="utf-8").splitlines()
    (place,) = {
        part
        for line in output.splitlines()
        for part in line.split(", ")
        if part.startswith("out/prod-use1/kueue/queues")
    } & {f"out/prod-use1/kueue/queues/search.yaml:{text.index('  namespaceSelector:') + 2}:5"}
    assert place


def test_every_template_that_gpuc_writes_gets_its_nodes(capsys: pytest.CaptureFixture[str]) -> None:
    code, output = traced(capsys, "-f", "out/train-usw2/workloads", "train-usw2")
    assert code == 0, output
    assert output.count("Result: the pods get nodes.") >= 3
    assert "assumed     pod validation    PersistentVolumeClaim foundation-train/lustre is not in the input" in output


@pytest.mark.share(3)
@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("prod-use1", "no workload: give a LocalQueue"),
        ("--queue reserch prod-use1", "did you mean research"),
        ("--queue research --pool train-h10 prod-use1", "did you mean train-h100"),
        ("--queue research --cpu lots prod-use1", "is not a quantity"),
        ("--queue research --resource gpu prod-use1", "is not NAME=QUANTITY"),
        ("--queue research --pods 0 prod-use1", "--pods must be 1 or more"),
        ("--queue research", "gpuc trace requires one cluster of"),
        ("-f nowhere.yaml prod-use1", "no file nowhere.yaml"),
        ("-f specs/prod-use1.yaml prod-use1", "no workload in specs/prod-use1.yaml"),
    ],
)
def test_wrong_usage_is_reported(words: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        run_command(["trace", *words.split()])

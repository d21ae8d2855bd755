"""TrainJobs get their pods from runtimes: the steps of the trace, and what keeps a TrainJob from its pods."""

from copy import deepcopy
from typing import Any

import pytest

from gpuc.manifest.manifest import manifest_of
from gpuc.objects.object_set import ObjectSet
from gpuc.trace import ClusterIndex, trace_workload, workload_of
from gpuc.trace.steps import Step
from tests.trace.test_counted import index

RUNTIME: dict[str, Any] = {"kind": "TrainingRuntime", "name": "pretrain"}
CLAIM = {
    "apiVersion": "v1",
    "kind": "PersistentVolumeClaim",
    "metadata": {"name": "checkpoints", "namespace": "research-train"},
    "spec": {"accessModes": ["ReadWriteMany"], "volumeName": "lustre"},
}


def train_job(**spec: Any) -> dict[str, Any]:
    metadata = {"name": "a", "namespace": "research-train", "labels": {"kueue.x-k8s.io/queue-name": "research"}}
    fields = {"runtimeRef": RUNTIME, "trainer": {"numNodes": 16}, **spec}
    return {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "metadata": metadata, "spec": fields}


def failed(document: dict[str, Any], *further: dict[str, Any]) -> list[Step]:
    cluster = index("prod-use1", policies=False)
    objects = cluster.objects.with_objects(map(manifest_of, further))
    cluster = ClusterIndex(objects, accounts=cluster.accounts)
    workload = workload_of(manifest_of(document), objects=objects)
    assert workload is not None
    return [step for step in trace_workload(cluster, workload).steps if step.failed]


def patch(**pod: Any) -> dict[str, Any]:
    job = {"name": "node", "template": {"spec": {"template": {"spec": pod}}}}
    return {"manager": "a.example/b", "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": [job]}}}}


def test_a_train_job_has_the_pods_of_its_runtime_on_as_many_nodes_as_it_says() -> None:
    workload = workload_of(manifest_of(train_job()), objects=index("prod-use1", policies=False).objects)
    assert workload is not None
    (pods,) = workload.pod_sets
    assert (pods.name, pods.count, workload.kind) == ("node", 16, "TrainJob")
    assert pods.pod["containers"][0]["resources"]["limits"]["vpc.amazonaws.com/efa"] == "32"
    assert failed(train_job()) == []


@pytest.mark.parametrize(
    ("spec", "field", "message"),
    [
        ({"trainer": {"numNodes": 2, "env": []}}, "env", "keeps the TrainJob suspended"),
        ({"trainer": None}, "spec", "each of them trains alone"),
        ({"trainer": {"numNodes": 0}}, "numNodes", "starts no pods"),
        ({"trainer": {"env": [{"name": "PET_NNODES", "value": "1"}]}}, 0, "Kubeflow Trainer sets PET_NNODES"),
        ({"runtimeRef": {"name": "pretrain"}}, "runtimeRef", "ClusterTrainingRuntime pretrain does not exist"),
        ({"runtimePatches": [patch(containers=[{"name": "node", "env": [{"name": "A"}]}])]}, "env", "refuses env"),
        (
            {"runtimePatches": [patch(containers=[{"name": "other"}])]},
            0,
            "the runtime has no container other",
        ),
    ],
)
def test_what_keeps_a_train_job_from_its_pods_is_a_failed_step(spec: Any, field: Any, message: str) -> None:
    document = train_job(**spec)
    document["spec"] = {key: value for key, value in document["spec"].items() if value is not None}
    (step,) = failed(document)
    assert step.field and step.field[-1] == field
    assert message in step.message


def test_a_train_job_with_more_nodes_than_the_queue_can_borrow_waits_for_ever() -> None:
    (step,) = failed(train_job(trainer={"numNodes": 17}))
    assert step.stage.value == "quota"


def test_a_runtime_of_the_file_can_be_that_of_the_whole_cluster() -> None:
    objects: ObjectSet = index("prod-use1", policies=False).objects
    found = objects.find("trainer.kubeflow.org", "TrainingRuntime", "pretrain", "research-train")
    assert found is not None
    runtime = {**found.document(), "kind": "ClusterTrainingRuntime", "metadata": {"name": "all"}}
    assert failed(train_job(runtimeRef={"name": "all"}), runtime) == []


def test_the_webhook_of_job_set_sets_the_restart_policy_of_a_runtime_without_one() -> None:
    found = index("prod-use1", policies=False).objects.find(
        "trainer.kubeflow.org", "TrainingRuntime", "pretrain", "research-train"
    )
    assert found is not None
    document = deepcopy({**found.document(), "kind": "ClusterTrainingRuntime", "metadata": {"name": "all"}})
    job = document["spec"]["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]
    del job["template"]["spec"]["restartPolicy"]
    (step,) = failed(train_job(runtimeRef={"name": "all"}), document)
    assert "podFailurePolicy needs restartPolicy Never" in step.message
    del job["podFailurePolicy"]
    assert failed(train_job(runtimeRef={"name": "all"}), document) == []


def test_a_patch_changes_the_pods_and_a_claim_of_the_input_is_known() -> None:
    tolerations = [{"key": "team.example/own", "operator": "Exists"}]
    document = train_job(runtimePatches=[patch(tolerations=tolerations)])
    workload = workload_of(manifest_of(document), objects=index("prod-use1", policies=False).objects)
    assert workload is not None
    assert workload.pod_sets[0].pod["tolerations"] == tolerations
    assert failed(document, CLAIM) == []

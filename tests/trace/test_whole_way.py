"""`gpuc trace` evaluates all checks of the cluster (C27, D2), and has an exit code for what it cannot judge."""

import json
from typing import Any

import pytest
import yaml

from tests.conftest import HUB
from tests.trace.conftest import Report, Traced

Object = dict[str, Any]
JOB = yaml.safe_load("""
apiVersion: batch/v1
kind: Job
metadata:
  name: run
  namespace: assistants-serving
  labels: {kueue.x-k8s.io/queue-name: assistants-cpu}
spec:
  podReplacementPolicy: Failed
  template:
    spec:
      restartPolicy: Never
      securityContext: {runAsNonRoot: true, runAsUser: 1000, seccompProfile: {type: RuntimeDefault}}
      containers:
        - name: main
          image: registry.example.com/embed:1
          resources: {requests: {cpu: "1", memory: 1Gi}, limits: {cpu: "1", memory: 1Gi}}
          securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}
""")


def job(**changes: Any) -> Object:
    """Returns a Job that starts, with other values at paths such as spec__template__spec__hostNetwork."""
    document: Object = json.loads(json.dumps(JOB))
    for path, value in changes.items():
        *parents, last = path.split("__")
        place: Any = document
        for step in parents:
            place = place[int(step) if step.isdigit() else step]
        place[last] = value
    return document


def failures(found: Any) -> list[tuple[str, str]]:
    return [
        (step["stage"], ".".join(map(str, step["field"]))) for step in found["steps"] if step["verdict"] == "failed"
    ]


POD = "spec__template__spec__"
MAIN = f"{POD}containers__0__"
CASES: dict[str, tuple[Object, str, str, str]] = {
    "restart policy": ({f"{POD}restartPolicy": "Always"}, "API server", "API server", "restartPolicy"),
    "quantity": ({f"{MAIN}resources": {"limits": {"memory": "8gi"}}}, "API server", "API server", "memory"),
    "unknown field": ({f"{POD}nodeSelectors": {}}, "API server", "API server", "nodeSelectors"),
    "host network": ({f"{POD}hostNetwork": True}, "policies", "policy", ""),
    "registry": ({f"{MAIN}image": "docker.io/team/embed:1"}, "policies", "policy", ""),
    "devices": ({f"{MAIN}env": [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}]}, "policies", "policy", ""),
    "user": ({f"{POD}securityContext": {"seccompProfile": {"type": "RuntimeDefault"}}}, "Pod Security",
             "Pod Security", "runAsNonRoot"),
    "service account": ({f"{POD}serviceAccountName": "absent"}, "pod validation", "API server", "serviceAccountName"),
    "priority class": ({f"{POD}priorityClassName": "absent"}, "pod validation", "API server", "priorityClassName"),
    "scheduling gate": ({f"{POD}schedulingGates": [{"name": "example.com/wait"}]}, "suspend", "user",
                        "schedulingGates"),
    "deadline": ({"spec__activeDeadlineSeconds": 0}, "suspend", "user", "activeDeadlineSeconds"),
    "group of Kubernetes": ({"kind": "RayJob", "apiVersion": "extensions/v1beta1"}, "API server", "API server",
                            "apiVersion"),
    "no pods": ({"spec__parallelism": 0}, "suspend", "user", ""),
    "kind": ({"kind": "PyTorchJob", "apiVersion": "kubeflow.org/v1", "spec": {"pytorchReplicaSpecs": {"Worker": {
        "replicas": 1, "template": JOB["spec"]["template"]}}}}, "rights", "RBAC", "kind"),
}  # fmt: skip


def test_the_job_starts(traced: Traced) -> None:
    code, found = traced(job())
    assert (code, found["verdict"], found["notJudged"]) == (0, "admitted", [])
    stages = list(dict.fromkeys(step["stage"] for step in found["steps"]))
    assert stages == [
        "rights", "API server", "policies", "local queue", "cluster queue", "resources", "flavor", "quota",
        "pod validation", "pod policies", "Pod Security", "namespace limits", "node pool", "node",
    ]  # fmt: skip


@pytest.mark.share(4)
@pytest.mark.parametrize("case", CASES)
def test_c27_d2_one_fault_is_found(case: str, traced: Traced) -> None:
    changes, stage, by, field = CASES[case]
    code, found = traced(job(**changes))
    assert (code, found["by"]) == (1, by)
    assert {failed for failed, _ in failures(found)} == {stage}
    assert any(field in path for _, path in failures(found))


def test_d2_all_faults_of_a_stage_are_shown(traced: Traced) -> None:
    changes = {f"{POD}hostNetwork": True, f"{MAIN}image": "docker.io/team/embed:1"}
    code, found = traced(job(**changes))
    constraints = {step["object"] for step in found["steps"] if step["verdict"] == "failed"}
    assert (code, constraints) == (1, {"GpucHostNetwork host-network", "GpucImages images"})


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({f"{POD}schedulerName": "volcano"}, "schedulerName"),
        ({"spec__managedBy": "example.com/controller"}, "managedBy"),
        ({f"{POD}volumes": [{"name": "a", "persistentVolumeClaim": {"claimName": "absent"}}]}, "PersistentVolumeClaim"),
    ],
)
def test_what_gpuc_does_not_judge_has_its_own_exit_code(changes: Object, reason: str, traced: Traced) -> None:
    code, found = traced(job(**changes))
    assert (code, found["verdict"], found["by"]) == (4, "not judged", None)
    assert any(reason in sentence for sentence in found["notJudged"])


@pytest.mark.parametrize(("name", "code"), [("absent", 4), ("settings", 0)])
def test_a_workload_without_its_owner_is_not_judged(name: str, code: int, traced: Traced) -> None:
    settings = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}}
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": "1"}
    found = traced(job(metadata__ownerReferences=[owner]), settings)
    assert found[0] == code
    assert bool(found[1]["notJudged"]) == (code == 4)


def test_a_webhook_of_the_tree_is_named(traced: Traced) -> None:
    hook = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "team"},
        "webhooks": [
            {
                "name": "jobs.example.com",
                "rules": [{"apiGroups": ["batch"], "apiVersions": ["*"], "operations": ["*"], "resources": ["jobs"]}],
                "clientConfig": {"service": {"name": "a", "namespace": "b"}},
                "admissionReviewVersions": ["v1"],
                "sideEffects": "None",
            }
        ],
    }
    _, found = traced(job(), where=[hook])
    assert any("jobs.example.com" in sentence for sentence in found["notJudged"])


def test_a_missing_config_map_is_an_assumption_of_the_result(traced: Traced, report: Report) -> None:
    work = job(spec__template__spec__containers__0__envFrom=[{"configMapRef": {"name": "settings"}}])
    code, trace = traced(work)
    assert (code, trace["verdict"]) == (0, "admitted")
    (assumed,) = trace["assumed"]
    assert assumed.startswith("ConfigMap assistants-serving/settings is not in the input")
    result = report(work)[1].splitlines()[-1]
    assert "The containers start only if ConfigMap assistants-serving/settings exists." in result


@pytest.mark.slow
def test_a_service_account_of_the_spec_exists(traced: Traced, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(HUB)
    pod = {f"{MAIN}image": "nvcr.io/nvidia/cuda:1"}
    work = job(**pod, metadata__namespace="nlp-train", metadata__labels={"kueue.x-k8s.io/queue-name": "nlp-cpu"})
    work["spec"]["template"]["spec"]["serviceAccountName"] = "trainer"
    code, trace = traced(work, where="vega-prod")
    assert (code, trace["verdict"]) == (0, "admitted")
    work["spec"]["template"]["spec"]["serviceAccountName"] = "trainers"
    code, trace = traced(work, where="vega-prod")
    assert code == 1
    assert "ServiceAccount nlp-train/trainers does not exist" in trace["steps"][-1]["message"]


def test_objects_in_the_file_of_a_workload_exist(traced: Traced) -> None:
    settings = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {}}
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "runner"}}
    work = job(
        spec__template__spec__serviceAccountName="runner",
        spec__template__spec__containers__0__envFrom=[{"configMapRef": {"name": "settings"}}],
    )
    code, trace = traced(work, settings, account)
    assert (code, trace["verdict"], trace["assumed"]) == (0, "admitted", [])
    elsewhere = {**account, "metadata": {"name": "runner", "namespace": "retrieval"}}
    code, trace = traced(elsewhere, work, settings)
    assert code == 1
    assert "ServiceAccount assistants-serving/runner does not exist" in trace["steps"][-1]["message"]


@pytest.mark.share(4)
@pytest.mark.parametrize(
    ("kind", "key", "value"),
    [
        ("labels", "kueue.x-k8s.io/podset", "workers"),
        ("labels", "kueue.x-k8s.io/cluster-queue-name", "retrieval"),
        ("labels", "kueue.x-k8s.io/local-queue-name", "other"),
        ("annotations", "kueue.x-k8s.io/workload", "job-run-1a2b3"),
    ],
)
def test_kueue_cannot_start_pods_with_other_values_of_its_metadata(
    kind: str, key: str, value: str, traced: Traced
) -> None:
    code, trace = traced(job(spec__template__metadata={kind: {key: value}}))
    assert code == 1
    assert trace["steps"][-1]["stage"] == "start"
    assert trace["steps"][-1]["field"] == ["spec", "template", "metadata", kind, key]
    assert traced(job(spec__template__metadata={"labels": {"kueue.x-k8s.io/podset": "main"}}))[0] == 0


def test_the_annotation_of_elastic_jobs_has_no_effect_if_the_gate_of_kueue_is_off(traced: Traced) -> None:
    elastic = {"kueue.x-k8s.io/elastic-job": "true", "kueue.x-k8s.io/job-min-parallelism": "1"}
    document = job(metadata__annotations=elastic, spec__parallelism=2, spec__completions=2)
    assert traced(document)[0] == 0

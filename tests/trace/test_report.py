"""The words of a trace for workloads that are refused, wait in Kueue, start no pods, or cannot be read."""

import pytest

from tests.trace.conftest import Report, Traced
from tests.trace.test_whole_way import JOB, Object, job

LABELS = JOB["metadata"]["labels"]


def cron_job(schedule: str) -> Object:
    template = {"metadata": {"labels": LABELS}, "spec": job()["spec"]}
    return {**job(), "kind": "CronJob", "spec": {"schedule": schedule, "jobTemplate": template}}


@pytest.mark.parametrize(
    ("document", "result"),
    [
        (job(spec__template__spec__hostNetwork=True), "Result: refused. An admission policy rejects the workload."),
        (
            job(spec__parallelism=2000, spec__completions=2000),
            "Result: pending in Kueue. The quota of",
        ),
        (job(spec__parallelism=0), "Result: no pods. The workload does not start: the number of pods of the workload"),
        (job(spec__activeDeadlineSeconds=0), "Result: no pods. The workload does not start: activeDeadlineSeconds is"),
        ({**cron_job("0 0 1 * *"), "apiVersion": "batch/v1beta1"}, "Result: refused. The API server rejects the"),
    ],
)
def test_the_result_says_where_the_workload_stops(document: Object, result: str, report: Report) -> None:
    code, output = report(document)
    assert code == 1
    assert result in output
    assert "admitted by Kueue" not in output


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({**job(), "apiVersion": "extensions/v1beta1", "kind": "Deployment"}, "does not serve kind Deployment in"),
        ({**cron_job("0 0 1 * *"), "apiVersion": "batch/v1beta1"}, "set apiVersion to batch/v1"),
        ({**job(), "apiVersion": "batch/v2"}, "does not serve kind Job in apiVersion batch/v2"),
        (job(spec={}), "spec.template"),
    ],
)
def test_the_api_server_refuses_objects_without_readable_pods(document: Object, message: str, report: Report) -> None:
    code, output = report(document)
    assert (code, message in output) == (1, True), output


@pytest.mark.share(4)
@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ({"apiVersion": "apps/v1", "kind": "DaemonSet"}, "gpuc does not trace kind DaemonSet"),
        ({"kind": "Jobs"}, "the kind Jobs is unknown (did you mean Job?)"),
        ({"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "spec": {}}, "gpuc finds no pod template"),
        ({"apiVersion": "batch.volcano.sh/v1alpha1"}, "the scheduler of Volcano starts its pods"),
    ],
)
def test_a_skipped_object_is_named(kind: Object, reason: str, report: Report) -> None:
    code, output = report(job(), {**job(), **kind})
    assert (code, f"is not traced: {reason}" in output) == (4, True), output
    code, output = report({**job(), **kind})
    assert (code, f"is not traced: {reason}" in output) == (2, True), output


def test_what_the_api_server_refuses_of_a_skipped_object_is_named(report: Report) -> None:
    task = {"name": "worker", "replicas": 3, "template": job()["spec"]["template"]}
    spec = {"minAvailable": 5, "tasks": [task]}
    _, output = report({**job(), "apiVersion": "batch.volcano.sh/v1alpha1", "spec": spec})
    assert "the webhook of Volcano refuses Job" in output
    assert "minAvailable" in output


def test_an_object_without_pods_is_not_mentioned(report: Report) -> None:
    config_map = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "assistants-serving"}}
    code, output = report(job(), config_map)
    assert (code, "is not traced" in output) == (0, False)


@pytest.mark.parametrize(("namespace", "code"), [("assistants-lab", 1), ("assistants-serving", 0)])
def test_the_option_namespace_does_not_move_a_workload(namespace: str, code: int, report: Report) -> None:
    actual, output = report(job(), options=f"--namespace {namespace}")
    assert (actual, "kubectl refuses the object" in output) == (code, code == 1)
    assert output.startswith("Job run: namespace assistants-serving")


@pytest.mark.share(5)
@pytest.mark.parametrize(
    ("schedule", "fires"),
    [
        ("0 0 30 2 *", False),
        ("0 0 31 4,6,sep-nov/2 *", False),
        ("0 0 30-31 feb ?", False),
        ("0 0 29 2 *", True),
        ("0 0 30 2 1", True),
        ("0 0 30 2 */2", True),
        ("0 0 30 2-3 *", True),
        ("0 0 28/2 2 *", True),
        ("0 0 * 2 *", True),
        ("@monthly", True),
    ],
)
def test_a_schedule_without_a_day_starts_no_jobs(schedule: str, fires: bool, traced: Traced) -> None:
    _, found = traced(cron_job(schedule))
    failed = [step["message"] for step in found["steps"] if step["verdict"] == "failed"]
    assert failed == ([] if fires else [f"schedule {schedule} has no day, so the CronJob starts no Jobs"])

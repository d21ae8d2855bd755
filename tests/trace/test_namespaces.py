"""Traces of workloads in namespaces that Kueue excludes, that gpuc does not create, or that have no LocalQueue."""

from typing import Any

import pytest

from tests.trace.conftest import Traced
from tests.trace.test_whole_way import POD, job

WEB = {
    f"{POD}nodeSelector": {"gpuc.dev/pool": "web"},
    f"{POD}tolerations": [{"key": "gpuc.dev/pool", "value": "web", "effect": "NoSchedule"}],
}
"""With these fields, the Job starts on node pool web without the flavor that Kueue would add."""
CONFIGURATION = """
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
managedJobsNamespaceSelector: {matchExpressions: [{key: team, operator: Exists}]}
integrations: {frameworks: [batch/job]}
"""


def messages(found: Any, verdict: str) -> list[str]:
    return [step["message"] for step in found["steps"] if step["verdict"] == verdict]


def test_kueue_ignores_a_queue_name_in_an_excluded_namespace(traced: Traced) -> None:
    """The Job of namespace default has the name of a LocalQueue, but starts without Kueue."""
    code, found = traced(job(metadata__namespace="default", **WEB))
    assert (code, found["verdict"]) == (0, "admitted")
    assert found["bypass"] == "managedJobsNamespaceSelector of Kueue excludes namespace default"
    fix = next(step["fix"] for step in found["steps"] if step["verdict"] == "bypassed")
    assert fix == (
        "create the workload in one of the namespaces assistants-lab, assistants-serving with LocalQueue assistants-cpu"
    )


def test_without_the_helm_chart_the_webhook_perhaps_suspends_the_job(traced: Traced) -> None:
    """Only the chart limits the webhooks of Kueue to the namespaces of managedJobsNamespaceSelector."""
    objects: list[Any] = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "assistants-serving"}},
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "kueue-manager-config", "namespace": "kueue-system"},
            "data": {"controller_manager_config.yaml": CONFIGURATION},
        },
    ]
    _, found = traced(job(), where=objects)
    assert any("the workload stays suspended" in message for message in messages(found, "unknown"))
    _, found = traced(job(metadata__labels={}), where=objects)
    assert not any("stays suspended" in message for message in messages(found, "unknown"))


@pytest.mark.parametrize(
    ("namespace", "code", "verdict"),
    [("gpu-operator", 0, "admitted"), ("monitoring", 4, "not judged"), ("argocd", 4, "not judged")],
)
def test_namespaces_of_the_platform_are_not_refused(namespace: str, code: int, verdict: str, traced: Traced) -> None:
    """Argo CD creates gpu-operator for the chart; gpuc only knows the names of the other namespaces."""
    actual, found = traced(job(metadata__namespace=namespace, **WEB))
    assert (actual, found["verdict"]) == (code, verdict)


def test_an_unknown_namespace_is_refused(traced: Traced) -> None:
    code, found = traced(job(metadata__namespace="assistants-servign"))
    assert (code, messages(found, "failed")) == (1, ["namespace assistants-servign does not exist"])

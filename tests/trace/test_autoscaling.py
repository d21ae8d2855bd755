"""Traces of workloads with several replicas, and with autoscalers that run more replicas than the workload declares."""

from typing import Any

import pytest
import yaml

from tests.trace.conftest import Report, Traced
from tests.trace.test_whole_way import Object, job

WEB = yaml.safe_load("""
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: assistants-serving
  labels: {kueue.x-k8s.io/queue-name: assistants-cpu}
""")


def deployment(replicas: int) -> Object:
    labels = {"app": "web", "kueue.x-k8s.io/queue-name": "assistants-cpu"}
    pod = {name: value for name, value in job()["spec"]["template"]["spec"].items() if name != "restartPolicy"}
    template = {"metadata": {"labels": labels}, "spec": pod}
    return {**WEB, "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": "web"}}, "template": template}}


def autoscaler(**spec: Any) -> Object:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "web", "namespace": "assistants-serving"},
        "spec": {"scaleTargetRef": target, "maxReplicas": 5000, **spec},
    }


def scaled_object(**spec: Any) -> Object:
    return {
        "apiVersion": "keda.sh/v1alpha1",
        "kind": "ScaledObject",
        "metadata": {"name": "web", "namespace": "assistants-serving"},
        "spec": {"scaleTargetRef": {"name": "web"}, **spec},
    }


@pytest.mark.share(4)
@pytest.mark.parametrize(
    ("replicas", "scaler", "copies"),
    [
        (1, autoscaler(minReplicas=3), 3),
        (4, autoscaler(minReplicas=3), 4),
        (1, autoscaler(minReplicas=3, scaleTargetRef={"apiVersion": "apps/v1", "kind": "Deployment", "name": "b"}), 1),
        (0, autoscaler(minReplicas=3), 0),
        (1, scaled_object(minReplicaCount=3), 3),
        (0, scaled_object(minReplicaCount=3), 3),
        (1, scaled_object(), 1),
    ],
)
def test_an_autoscaler_of_the_file_runs_at_least_its_minimum(
    replicas: int, scaler: Object, copies: int, traced: Traced
) -> None:
    _, found = traced(deployment(replicas), scaler)
    assert found["copies"] == copies
    named = [step["message"] for step in found["steps"] if step["stage"] == "replicas"]
    sentence = f"{scaler['kind']} assistants-serving/web runs at least 3 replicas; the Deployment declares {replicas}"
    assert named == ([sentence] if copies > replicas else [])


def test_the_minimum_of_an_autoscaler_can_be_too_large(traced: Traced) -> None:
    assert traced(deployment(1))[0] == 0
    assert traced(deployment(1), autoscaler(minReplicas=2000))[0] == 1


def test_an_autoscaler_without_a_namespace_scales_a_stateful_set(traced: Traced) -> None:
    """The pods of a StatefulSet are one workload of Kueue, so it has one copy."""
    pods = deployment(1)
    stateful = {**pods, "kind": "StatefulSet", "spec": {**pods["spec"], "serviceName": "web"}}
    scaler = autoscaler(minReplicas=3, scaleTargetRef={"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web"})
    _, found = traced(stateful, {**scaler, "metadata": {"name": "web"}})
    assert (found["copies"], found["pods"]["main"]["count"]) == (1, 3)


def test_an_autoscaler_of_the_input_counts(traced: Traced) -> None:
    assert traced(deployment(1), where=[autoscaler(minReplicas=7)])[1]["copies"] == 7


def test_the_report_counts_the_pods_and_nodes_of_all_replicas(report: Report) -> None:
    """Only an m7i.4xlarge has 12 cores, and only for one of the pods."""
    large = deployment(2)
    amounts = {"cpu": "12", "memory": "1Gi"}
    large["spec"]["template"]["spec"]["containers"][0]["resources"] = {"requests": amounts, "limits": amounts}
    code, output = report(large)
    assert code == 0
    assert "  main: 2 x 12 cpu, 1Gi memory" in output
    assert "Result: the pods get nodes. main: 2 x m7i.4xlarge in node pool web, flavor web" in output

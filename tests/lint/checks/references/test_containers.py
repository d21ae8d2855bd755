"""Amounts and ports of containers: what the API server refuses, and what it takes."""

from __future__ import annotations

import pytest

from gpuc.lint.checks.references.containers import findings
from gpuc.objects.index import Index
from tests.lint.checks.references.trees import tree

POD = """
    apiVersion: v1
    kind: Pod
    metadata: {name: a, namespace: n}
    spec:
      containers:
        - name: c
          ports: [{name: http, containerPort: 80}]
          %s
    """


def told(*texts: str) -> list[str]:
    return [f"{each.rule.id} {each.path[-1]}: {each.message}" for each in findings(Index(tree(*texts)))]


@pytest.mark.parametrize(
    ("container", "words"),
    [
        ("resources: {requests: {memory: 2Gi}, limits: {memory: 1Gi}}", "OBJ020 memory: 2Gi is more than"),
        ("resources: {requests: {nvidia.com/gpu: 1}, limits: {nvidia.com/gpu: 2}}", "OBJ020 nvidia.com/gpu: 1 is not"),
        ("resources: {requests: {nvidia.com/gpu: 1}}", "OBJ020 nvidia.com/gpu: needs a limit"),
        ("resources: {limits: {nvidia.com/gpu: 500m}}", "OBJ020 nvidia.com/gpu: 500m is no whole number"),
        ("resources: {limits: {gpu: 1}}", "OBJ020 gpu: no resource of a container"),
        ("resources: {limits: {hugepages-2Mi: 10Gi}}", "OBJ020 resources: huge pages need"),
        ("resources: {limits: {hugepages-2Mi: 3Mi, cpu: 1}}", "OBJ020 hugepages-2Mi: 3Mi is no multiple"),
        ("readinessProbe: {httpGet: {port: htpp}}", "OBJ022 port: no port of the container"),
    ],
)
def test_what_is_refused_or_never_ready(container: str, words: str) -> None:
    (only,) = told(POD % container)
    assert only.startswith(words)


@pytest.mark.parametrize(
    "container",
    [
        "resources: {requests: {cpu: 0.5}, limits: {cpu: 500m, nvidia.com/gpu: 1}}",
        "resources: {requests: {nvidia.com/gpu: 1}, limits: {nvidia.com/gpu: '1'}}",
        "resources: {requests: {memory: 1Gi}, limits: {memory: 1024Mi, hugepages-2Mi: 64Mi}}",
        "readinessProbe: {httpGet: {port: http}}",
        "livenessProbe: {tcpSocket: {port: 8080}}",
        "resources: {limits: nothing}",
    ],
)
def test_what_is_taken(container: str) -> None:
    assert told(POD % container) == []


RANGE = """
    apiVersion: v1
    kind: LimitRange
    metadata: {name: l, namespace: %s}
    spec: {limits: [{type: Container, default: {memory: 1Gi}, %s}]}
    """


def test_a_request_above_the_default_limit_of_its_namespace_is_refused() -> None:
    pod = POD % "resources: {requests: {memory: 2Gi}}"
    (only,) = told(pod, RANGE % ("n", "max: {memory: 8Gi}"))
    assert "LimitRange" in only
    assert told(pod, RANGE % ("other", "max: {memory: 8Gi}")) == []
    assert told(pod, RANGE % ("n", "max: {cpu: 8}"), RANGE % ("n", "max: {cpu: 8}")) == [], "which one is not known"


def test_bounds_of_a_limit_range_are_in_order() -> None:
    (only,) = told(RANGE % ("n", "defaultRequest: {memory: 2Gi}"))
    assert only.startswith("OBJ021 memory: 2Gi is more than the default")
    assert told(RANGE % ("n", "defaultRequest: {memory: 512Mi}, max: {memory: 1Gi}")) == []


SERVICE = """
    apiVersion: v1
    kind: Service
    metadata: {name: s, namespace: n}
    spec: {selector: {app: a}, ports: [{port: 80, targetPort: %s}]}
    """
LABELLED = (POD % "image: i").replace("metadata: {name: a,", "metadata: {name: a, labels: {app: a},")


def test_a_service_names_a_port_of_its_pods() -> None:
    assert told(LABELLED, SERVICE % "http") == told(LABELLED, SERVICE % "8080") == told(SERVICE % "http") == []
    (only,) = told(LABELLED, SERVICE % "https")
    assert only.startswith("OBJ022 targetPort")

"""Amounts and ports of containers that the API server refuses or accepts."""

from __future__ import annotations

import pytest

from gpuc.lint.checks.references.containers import findings
from tests.lint.checks.references.trees import tree
from tests.tables import table

POD = """
    apiVersion: v1
    kind: Pod
    metadata: {name: a, namespace: ns}
    spec:
      containers:
        - name: c
          ports: [{name: http, containerPort: 80}]
          %s
    """


def reported(*texts: str) -> list[str]:
    return [f"{finding.rule.id} {finding.path[-1]}: {finding.message}" for finding in findings(tree(*texts))]


@pytest.mark.parametrize(
    ("container", "words"),
    table(__file__, "containers.yaml")["refused"],
)
def test_refused_amounts_and_unknown_ports_are_reported(container: str, words: str) -> None:
    (only,) = reported(POD % container)
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
        "resources: {limits: {kubernetes.io/batch-cpu: 500m}}",
    ],
)
def test_accepted_amounts_and_ports(container: str) -> None:
    assert reported(POD % container) == []


RANGE = """
    apiVersion: v1
    kind: LimitRange
    metadata: {name: l, namespace: %s}
    spec: {limits: [{type: Container, default: {memory: 1Gi}, %s}]}
    """


def test_a_request_above_the_default_limit_of_its_namespace_is_refused() -> None:
    pod = POD % "resources: {requests: {memory: 2Gi}}"
    (only,) = reported(pod, RANGE % ("ns", "max: {memory: 8Gi}"))
    assert "LimitRange" in only
    assert reported(pod, RANGE % ("other", "max: {memory: 8Gi}")) == []
    assert reported(pod, RANGE % ("ns", "max: {cpu: 8}"), RANGE % ("ns", "max: {cpu: 8}")) == [], (
        "which LimitRange sets the limit is not known"
    )


SERVICE = """
    apiVersion: v1
    kind: Service
    metadata: {name: s, namespace: ns}
    spec: {selector: {app: a}, ports: [{port: 80, targetPort: %s}]}
    """
LABELLED = (POD % "image: i").replace("metadata: {name: a,", "metadata: {name: a, labels: {app: a},")


def test_a_service_names_a_port_of_its_pods() -> None:
    assert (
        reported(LABELLED, SERVICE % "http") == reported(LABELLED, SERVICE % "8080") == reported(SERVICE % "http") == []
    )
    (only,) = reported(LABELLED, SERVICE % "https")
    assert only.startswith("OBJ022 targetPort")

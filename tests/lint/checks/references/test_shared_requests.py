"""Containers that request more than one replica of a shared GPU."""

from __future__ import annotations

import pytest

from tests.lint.checks.references.trees import reported

SHARING = """
apiVersion: nvidia.com/v1
kind: ClusterPolicy
metadata: {name: cluster-policy}
spec: {devicePlugin: {config: {name: sharing-configs, default: exclusive}}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: sharing-configs, namespace: gpu-operator}
data:
  exclusive: "flags: {migStrategy: none}"
  sliced: "sharing: {KIND: {RULES, resources: [{name: nvidia.com/gpu, replicas: 4}]}}"
"""
STRICT = "renameByDefault: true, failRequestsGreaterThanOne: true"


def work(amount: str, name: str = "nvidia.com/gpu.shared") -> str:
    """Pods that request an amount."""
    return f"""
apiVersion: apps/v1
kind: Deployment
metadata: {{name: work, namespace: default}}
spec: {{template: {{spec: {{containers: [{{name: a, resources: {{limits: {{{name}: {amount}}}}}}}]}}}}}}
"""


def sharing(kind: str, rules: str) -> str:
    """The GPU operator with a configuration that shares GPUs."""
    return SHARING.replace("KIND", kind).replace("RULES", rules)


@pytest.mark.parametrize(
    ("kind", "rules", "pods", "is_reported"),
    [
        ("timeSlicing", STRICT, work("2"), True),
        ("timeSlicing", STRICT, work('"2"'), True),
        ("timeSlicing", STRICT, work("1"), False),
        ("timeSlicing", STRICT, work("[]"), False),
        ("timeSlicing", STRICT, work("2", "nvidia.com/gpu"), False),
        ("timeSlicing", "renameByDefault: true", work("2"), False),
        ("timeSlicing", "failRequestsGreaterThanOne: true", work("2"), False),
        ("mps", "renameByDefault: true", work("2"), True),
        ("mps", "renameByDefault: true, failRequestsGreaterThanOne: false", work("2"), False),
    ],
)
def test_a_container_gets_one_replica_of_a_shared_gpu(kind: str, rules: str, pods: str, is_reported: bool) -> None:
    found = [code for code, _, _ in reported(sharing(kind, rules), pods)]
    assert found == (["REF083"] if is_reported else [])


def test_another_configuration_may_allow_more() -> None:
    lenient = sharing("timeSlicing", STRICT) + (
        '  loose: "sharing: {timeSlicing: {renameByDefault: true, resources: [{name: nvidia.com/gpu, replicas: 2}]}}"\n'
    )
    assert reported(lenient, work("2")) == []
    assert reported(work("2")) == [], "the input has no configuration"

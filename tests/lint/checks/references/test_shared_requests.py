"""Containers that ask for more of a shared GPU than the device plugin gives."""

from __future__ import annotations

import pytest

from tests.lint.checks.references.trees import told

SHARING = """
apiVersion: nvidia.com/v1
kind: ClusterPolicy
metadata: {name: cluster-policy}
spec: {devicePlugin: {config: {name: sharing-configs, default: whole}}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: sharing-configs, namespace: gpu-operator}
data:
  whole: "flags: {migStrategy: none}"
  sliced: "sharing: {KIND: {RULES, resources: [{name: nvidia.com/gpu, replicas: 4}]}}"
"""
STRICT = "renameByDefault: true, failRequestsGreaterThanOne: true"


def work(amount: str, name: str = "nvidia.com/gpu.shared") -> str:
    """Pods that ask for an amount."""
    return f"""
apiVersion: apps/v1
kind: Deployment
metadata: {{name: work, namespace: default}}
spec: {{template: {{spec: {{containers: [{{name: a, resources: {{limits: {{{name}: {amount}}}}}}}]}}}}}}
"""


def sharing(kind: str, rules: str) -> str:
    """The operator with a configuration that shares GPUs."""
    return SHARING.replace("KIND", kind).replace("RULES", rules)


@pytest.mark.parametrize(
    ("kind", "rules", "pods", "is_told"),
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
def test_a_container_gets_one_piece_of_a_shared_gpu(kind: str, rules: str, pods: str, is_told: bool) -> None:
    found = [code for code, _, _ in told(sharing(kind, rules), pods)]
    assert found == (["REF083"] if is_told else [])


def test_another_configuration_may_give_more() -> None:
    lenient = sharing("timeSlicing", STRICT) + (
        '  loose: "sharing: {timeSlicing: {renameByDefault: true, resources: [{name: nvidia.com/gpu, replicas: 2}]}}"\n'
    )
    assert told(lenient, work("2")) == []
    assert told(work("2")) == [], "no configuration is in the tree"

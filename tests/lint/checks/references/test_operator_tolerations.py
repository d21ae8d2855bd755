"""Taints of node pools that the pods of the GPU operator have to tolerate."""

from __future__ import annotations

import pytest

from tests.conftest import EXAMPLES
from tests.lint.checks.references.trees import example_objects, findings_of, ids, replaced, with_value

TREE = """
apiVersion: nvidia.com/v1
kind: ClusterPolicy
metadata: {name: cluster-policy}
spec: {daemonsets: {tolerations: TOLERATIONS}}
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: vision}
spec:
  template:
    metadata: {labels: {nvidia.com/gpu.deploy.operands: "DEPLOY"}}
    spec:
      taints: [{key: team, value: vision, effect: NoSchedule}]
      requirements: [{key: node.kubernetes.io/instance-type, operator: In, values: [TYPE]}]
"""
OPEN = "[{key: team, operator: Exists, effect: NoSchedule}]"


@pytest.mark.parametrize(
    ("tolerations", "instance", "deploy", "is_reported"),
    [
        ("[{key: nvidia.com/gpu, operator: Exists}]", "g6.12xlarge", "true", True),
        (OPEN, "g6.12xlarge", "true", False),
        ("[{operator: Exists}]", "g6.12xlarge", "true", False),
        (OPEN.replace("NoSchedule", "NoExecute"), "g6.12xlarge", "true", True),
        ("[]", "m7i.8xlarge", "true", False),
        ("[]", "g6.12xlarge", "false", False),
        ("null", "g6.12xlarge", "true", False),
    ],
)
def test_a_taint_that_keeps_the_device_plugin_off_is_reported(
    tolerations: str, instance: str, deploy: str, is_reported: bool
) -> None:
    text = TREE.replace("TOLERATIONS", tolerations).replace("TYPE", instance).replace("DEPLOY", deploy)
    assert ("REF015" in ids(text)) == is_reported


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_tolerations_that_gpuc_writes_are_needed(name: str) -> None:
    objects = example_objects(name)
    (policy,) = (manifest for manifest in objects if manifest.kind == "ClusterPolicy")
    tolerations = policy.body["spec"]["daemonsets"]["tolerations"]
    fewer = [toleration for toleration in tolerations if toleration["key"] != "nvidia.com/gpu"]
    broken = with_value(policy, ("spec", "daemonsets", "tolerations"), fewer)
    found = findings_of(replaced(objects, policy, broken), is_complete=True, charts_of=name)
    assert {finding.rule.id for finding in found} == {"REF015"}

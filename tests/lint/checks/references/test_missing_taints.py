"""Node pools without a taint that flavors or pods for their nodes tolerate."""

from __future__ import annotations

import pytest

from tests.lint.checks.references.trees import reported

FLAVOR = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: trainers}
spec: {nodeLabels: {example.com/pool: trainers}, tolerations: TOLERATIONS}
"""
BY_KEY = FLAVOR.replace("TOLERATIONS", "[{key: nvidia.com/gpu, operator: Exists}]")
BOTH = FLAVOR.replace("TOLERATIONS", "[{key: nvidia.com/gpu, operator: Exists}, {key: example.com/mode, value: mig}]")
PODS = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: work, namespace: default}
spec:
  template:
    spec:
      nodeSelector: {example.com/pool: trainers}
      tolerations: [{key: nvidia.com/gpu, operator: Exists}]
"""
TAINT = "{key: nvidia.com/gpu, value: present, effect: NoSchedule}"


def pool(taints: str = "[]", requirement: str = "", group: str = "karpenter.k8s.aws", startup: str = "[]") -> str:
    """A pool of nodes with GPUs and a node class."""
    types = requirement or "key: node.kubernetes.io/instance-type, operator: In, values: [p5.48xlarge, g6e.xlarge]"
    return f"""
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {{name: trainers}}
spec:
  template:
    metadata: {{labels: {{example.com/pool: trainers}}}}
    spec:
      nodeClassRef: {{group: {group}, kind: EC2NodeClass, name: gpu}}
      requirements: [{{{types}}}]
      taints: {taints}
      startupTaints: {startup}
"""


def node_class(script: str) -> str:
    """A node class with a start script."""
    return f"""
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {{name: gpu}}
spec: {{userData: {script!r}}}
"""


def found(*texts: str, is_complete: bool = False) -> list[str]:
    """Node pools that are reported to lack a taint."""
    return [name for code, name, _ in reported(*texts, is_complete=is_complete) if code == "REF028"]


@pytest.mark.parametrize("user", [BY_KEY, PODS], ids=["flavor", "pods"])
@pytest.mark.parametrize("is_complete", [True, False])
def test_nodes_with_gpus_and_without_taints_are_reported(user: str, is_complete: bool) -> None:
    assert found(pool(), user, is_complete=is_complete) == ["NodePool trainers"]
    prefers = pool(TAINT.replace("NoSchedule", "PreferNoSchedule").join("[]"))
    assert found(
        prefers, user.replace("operator: Exists", "operator: Exists, effect: NoSchedule"), is_complete=is_complete
    ) == ["NodePool trainers"]
    assert found(pool(f"[{TAINT}]"), user, is_complete=is_complete) == []
    assert found(pool(startup=f"[{TAINT}]"), user, is_complete=is_complete) == []
    assert found(pool("[{key: example.com/other, effect: NoSchedule}]"), user, is_complete=is_complete) == [], (
        "the taint keeps the pods off"
    )


def test_in_complete_input_every_taint_that_a_flavor_tolerates_is_expected() -> None:
    assert found(pool(f"[{TAINT}]"), BOTH, is_complete=True) == ["NodePool trainers"]
    assert found(pool(f"[{TAINT}]"), BOTH) == [], "another taint keeps pods off"
    both = f"[{TAINT}, {{key: example.com/mode, value: mig, effect: NoSchedule}}]"
    assert found(pool(both), BOTH, is_complete=True) == []


@pytest.mark.parametrize(
    "made",
    [
        pool(group="karpenter.azure.com"),
        pool(requirement="key: node.kubernetes.io/instance-type, operator: In, values: [p5.48xlarge, m7i.large]"),
        pool(requirement="key: karpenter.k8s.aws/instance-category, operator: In, values: [c, m]"),
        pool() + "---" + node_class("kubelet --register-with-taints=nvidia.com/gpu=present:NoSchedule"),
    ],
    ids=["another cloud", "another type", "no GPU", "kubelet"],
)
def test_in_partial_input_nodes_that_may_be_for_all_pods_are_not_reported(made: str) -> None:
    assert found(made, BY_KEY) == found(made, PODS) == []


@pytest.mark.parametrize(
    "tolerations",
    ["[]", "[{operator: Exists}]", "[{key: node.kubernetes.io/not-ready, operator: Exists}]", "[{key: [7]}, 7]"],
)
def test_tolerations_of_all_taints_or_of_system_taints_are_ignored(tolerations: str) -> None:
    assert found(pool(), FLAVOR.replace("TOLERATIONS", tolerations), is_complete=True) == []


@pytest.mark.parametrize(
    ("requirement", "is_reported"),
    [
        ("key: karpenter.k8s.aws/instance-family, operator: In, values: [g6, p4de]", True),
        ("key: karpenter.k8s.aws/instance-family, operator: In, values: [g6, r7i]", False),
        ("key: karpenter.k8s.aws/instance-gpu-count, operator: Gt, values: ['0']", True),
    ],
)
def test_gpus_are_known_by_family_or_count(requirement: str, is_reported: bool) -> None:
    assert bool(found(pool(requirement=requirement), BY_KEY)) == is_reported

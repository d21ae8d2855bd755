"""Devices in node overlays that the device plugin does not create."""

from __future__ import annotations

from typing import Any

import pytest

from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import ObjectSet
from tests.conftest import compiled_example
from tests.lint.checks.references.trees import replaced, tree, with_value
from tests.lint.checks.topics import references as findings

UNSHARED = "flags: {migStrategy: none}"
SLICED = "flags: {migStrategy: mixed}"
FOUR = "{resources: [{name: nvidia.com/gpu, replicas: 4}], renameByDefault: true}"
SHARED = f"{{flags: {{migStrategy: none}}, sharing: {{timeSlicing: {FOUR}}}}}"
SAME_NAME = SHARED.replace("true", "false")
CUT = "{devices: [0, 1, 2, 3], mig-enabled: true, mig-devices: {1g.10gb: 7}}"
HALF = f"[{CUT}, {{devices: [4, 5, 6, 7], mig-enabled: false}}]"


def nodes(instance_type: str, capacity: str, more: str = "", weight: int = 1) -> str:
    """A pool with one instance type and a configuration, and an overlay."""
    return f"""
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {{name: a}}
spec:
  template:
    metadata: {{labels: {{nvidia.com/device-plugin.config: chosen, nvidia.com/mig.config: half}}}}
    spec: {{requirements: [{{key: node.kubernetes.io/instance-type, operator: In, values: [{instance_type}]}}]}}
---
apiVersion: karpenter.sh/v1alpha1
kind: NodeOverlay
metadata: {{name: a}}
spec:
  weight: {weight}
  requirements: [{{key: karpenter.sh/nodepool, operator: In, values: [a]}} {more}]
  capacity: {capacity}
"""


def reported(config: str, *texts: str, layout: str = "", strategy: str = "") -> list[str]:
    """Messages with a chart whose device plugin has one configuration and whose MIG manager has one layout."""
    layouts = {"config.yaml": f"mig-configs: {{half: {layout or '[]'}}}"}
    values: dict[str, Any] = {
        "mig": {"strategy": strategy},
        "devicePlugin": {"config": {"create": True, "name": "a", "data": {"chosen": config}}},
        "migManager": {"config": {"create": True, "name": "b", "data": layouts}},
    }
    made = ObjectSet(tree(*texts).manifests, is_complete=True, values={"gpu-operator": values})
    return [finding.message for finding in findings(made) if finding.rule.id == "REF054"]


@pytest.mark.parametrize(
    ("config", "instance_type", "capacity", "is_right"),
    [
        (UNSHARED, "g6.12xlarge", '{nvidia.com/gpu: "4"}', True),
        (UNSHARED, "g6.12xlarge", "{nvidia.com/gpu: 3}", False),
        (UNSHARED, "g6.12xlarge", '{nvidia.com/gpu.shared: "16"}', False),
        (UNSHARED, "p5.48xlarge", '{nvidia.com/mig-1g.10gb: "56"}', False),
        (SHARED, "g6.12xlarge", '{nvidia.com/gpu: "0", nvidia.com/gpu.shared: "16"}', True),
        (SHARED, "g6.12xlarge", '{nvidia.com/gpu.shared: "4"}', False),
        (SHARED, "g6.12xlarge", '{nvidia.com/gpu: "4"}', False),
        (SAME_NAME, "g6.12xlarge", '{nvidia.com/gpu: "16"}', True),
        (SAME_NAME, "g6.12xlarge", '{nvidia.com/gpu.shared: "16"}', False),
        (SLICED, "p5.48xlarge", '{nvidia.com/mig-3g.40gb: "16", nvidia.com/gpu: "0"}', True),
        (SLICED, "p5.48xlarge", '{nvidia.com/mig-3g.40gb: "17"}', False),
        (SLICED, "p5.48xlarge", '{nvidia.com/mig-1g.10gb: "28", nvidia.com/gpu: "4"}', True),
        (SLICED, "p5.48xlarge", '{nvidia.com/gpu: "9"}', False),
        (SLICED, "m7i.large", '{nvidia.com/gpu: "9"}', True),
        (SLICED, "x9.future", '{nvidia.com/gpu: "9", example.com/nic: "1"}', True),
        ("version: v1", "g6.12xlarge", '{nvidia.com/gpu: "9"}', True),
        ("{flags: {migStrategy: single}}", "p5.48xlarge", '{nvidia.com/gpu: "16"}', True),
        ("{flags: {migStrategy: none}, resources: {gpus: []}}", "g6.12xlarge", '{nvidia.com/gpu: "9"}', True),
        (SHARED.replace("replicas: 4", "replicas: 4, rename: a"), "g6.12xlarge", '{nvidia.com/gpu: "9"}', True),
        ("'{['", "g6.12xlarge", '{nvidia.com/gpu: "9"}', True),
    ],
)
def test_overlays_match_the_configuration(config: str, instance_type: str, capacity: str, is_right: bool) -> None:
    assert (reported(config, nodes(instance_type, capacity)) == []) == is_right


def test_a_layout_sets_the_number_of_slices() -> None:
    right = '{nvidia.com/mig-1g.10gb: "28", nvidia.com/gpu: "4"}'
    assert reported(SLICED, nodes("p5.48xlarge", right), layout=HALF) == []
    assert reported(SLICED, nodes("p5.48xlarge", '{nvidia.com/mig-1g.10gb: "56"}'), layout=HALF) == [
        "the overlay gives nodes of type p5.48xlarge in NodePool a 56 nvidia.com/mig-1g.10gb, but "
        "the device plugin's configuration chosen creates 28 from 8 GPUs"
    ]
    filtered = HALF.replace("{devices", "{device-filter: ['0x233010DE'], devices", 1)
    assert reported(SLICED, nodes("p5.48xlarge", '{nvidia.com/mig-1g.10gb: "56"}'), layout=filtered) == []


def test_the_strategy_of_the_operator_overrides_the_configuration() -> None:
    slices = nodes("p5.48xlarge", '{nvidia.com/mig-1g.10gb: "56"}')
    assert reported(UNSHARED, slices, strategy="mixed") == []
    assert len(reported(SLICED, slices, strategy="none")) == 1


def test_overlays_that_may_not_apply_are_not_reported() -> None:
    wrong = '{nvidia.com/gpu: "9"}'
    zone = ", {key: topology.kubernetes.io/zone, operator: In, values: [eu-west-1a]}"
    assert reported(UNSHARED, nodes("g6.12xlarge", wrong, zone)) == []
    heavier = nodes("g6.12xlarge", '{nvidia.com/gpu: "4"}', weight=9).replace("NodeOverlay\nmetadata: {name: a}", "@")
    heavier = heavier[heavier.index("---") :].replace("@", "NodeOverlay\nmetadata: {name: b}")
    assert reported(UNSHARED, nodes("g6.12xlarge", wrong) + heavier) == []


def test_without_a_configuration_the_strategy_of_the_operator_decides() -> None:
    operator = """
    apiVersion: nvidia.com/v1
    kind: ClusterPolicy
    metadata: {name: cluster-policy}
    spec: {mig: {strategy: STRATEGY}, devicePlugin: {enabled: true}}
    """

    def found(strategy: str, capacity: str) -> int:
        made = tree(operator.replace("STRATEGY", strategy), nodes("p5.48xlarge", capacity))
        return sum(finding.rule.id == "REF054" for finding in findings(made))

    assert found("mixed", '{nvidia.com/mig-1g.10gb: "56"}') == found("none", '{nvidia.com/gpu: "8"}') == 0
    assert found("mixed", '{nvidia.com/mig-1g.10gb: "57"}') == found("none", '{nvidia.com/mig-1g.10gb: "8"}') == 1
    assert found("mixed", '{nvidia.com/gpu.shared: "8"}') == 1
    assert found("''", '{nvidia.com/mig-1g.10gb: "57"}') == 0


def of(kind: str, name: str, objects: tuple[Manifest, ...]) -> Manifest:
    """An object of an example."""
    return next(manifest for manifest in objects if manifest.kind == kind and manifest.name == name)


@pytest.mark.parametrize(
    ("kind", "name", "path", "value"),
    [
        ("NodeOverlay", "models-a100-p4d-24xlarge", ("spec", "capacity", "nvidia.com/mig-1g.5gb"), "17"),
        ("NodeOverlay", "embed-l4-g6-12xlarge", ("spec", "capacity", "nvidia.com/gpu.shared"), "24000000"),
        (
            "NodePool",
            "notebooks-l4",
            ("spec", "template", "metadata", "labels", "nvidia.com/device-plugin.config"),
            "mps-6",
        ),
    ],
)
def test_a_wrong_amount_or_configuration_in_an_example_is_reported(
    kind: str, name: str, path: tuple[str, ...], value: str
) -> None:
    spec = compiled_example("infer-euw1")
    old = of(kind, name, spec.objects)
    broken = replaced(spec.objects, old, with_value(old, path, value))
    found = [
        finding
        for finding in findings(ObjectSet(broken, is_complete=True, values=spec.charts))
        if finding.rule.id == "REF054"
    ]
    assert found
    assert all(finding.manifest.kind == "NodeOverlay" and finding.manifest.name.startswith(name) for finding in found)

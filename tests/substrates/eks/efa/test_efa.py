"""EFA device plugin: tolerations and instance types."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpuc.emit.component import needed_components
from gpuc.manifest.manifest import Manifest, Values
from gpuc.model import Cluster
from gpuc.substrates.eks.efa.component import COMPONENT, efa
from gpuc.substrates.eks.karpenter.component import karpenter
from tests.verify.findings import verify_values

Variant = Callable[[Callable[[dict[str, Any]], object]], Cluster]


def test_it_tolerates_each_taint_of_each_pool_with_efa(reference: Cluster) -> None:
    (values,) = efa(reference)
    assert isinstance(values, Values)
    assert verify_values([values], reference.components) == []
    tolerated = {
        (toleration["key"], toleration["value"], toleration["effect"]) for toleration in values.body["tolerations"]
    }
    assert len(tolerated) == len(values.body["tolerations"])
    seen = 0
    for manifest in karpenter(reference):
        if (
            isinstance(manifest, Manifest)
            and manifest.kind == "NodePool"
            and manifest.name in ("train-h100", "batch-a100")
        ):
            template = manifest.body["spec"]["template"]["spec"]
            taints = template["taints"] + template.get("startupTaints", [])
            seen += len(taints)
            assert {(taint["key"], taint["value"], taint["effect"]) for taint in taints} <= tolerated
    assert seen


def test_it_runs_on_the_types_of_pools_with_efa_only(reference: Cluster) -> None:
    (values,) = efa(reference)
    assert isinstance(values, Values)
    assert values.body["supportedInstanceLabels"]["values"] == ["p4d.24xlarge", "p5.48xlarge"]


def test_c13_the_image_comes_from_the_registry_of_the_region(reference: Cluster, variant: Variant) -> None:
    def image(cluster: Cluster) -> str:
        (values,) = efa(cluster)
        assert isinstance(values, Values)
        return str(values.body["image"]["repository"])

    name = "eks/aws-efa-k8s-device-plugin"
    assert image(reference) == f"602401143452.dkr.ecr.us-east-1.amazonaws.com/{name}"
    china = variant(lambda spec: spec["cloud"]["aws"].update(region="cn-north-1"))
    assert image(china) == f"918309763551.dkr.ecr.cn-north-1.amazonaws.com.cn/{name}"
    mirror = variant(lambda spec: spec["cloud"]["aws"].update(addOnRegistry="registry.example.com:5000/aws"))
    assert image(mirror) == f"registry.example.com:5000/aws/{name}"


def test_c13_each_registry_is_in_its_region(reference: Cluster) -> None:
    for region, registry in reference.catalog.eks_registries.items():
        assert registry.host.split(".")[3] == region


def test_a_cluster_without_efa_has_none(variant: Variant) -> None:
    def without(spec: dict[str, Any]) -> None:
        for pool in spec["pools"].values():
            pool.pop("fabric", None)

    assert COMPONENT not in needed_components(variant(without))

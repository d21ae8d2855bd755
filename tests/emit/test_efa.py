"""EFA device plugin: tolerations and instance types."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpuc.emit.component import needed_components
from gpuc.emit.efa import COMPONENT, efa
from gpuc.emit.karpenter import karpenter
from gpuc.manifest.manifest import Manifest, Values
from gpuc.model import Cluster
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


def test_a_cluster_without_efa_has_none(variant: Variant) -> None:
    def without(spec: dict[str, Any]) -> None:
        for pool in spec["pools"].values():
            pool.pop("fabric", None)

    assert COMPONENT not in needed_components(variant(without))

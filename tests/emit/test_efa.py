"""Where the EFA plugin runs."""

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
    tolerated = {(each["key"], each["value"], each["effect"]) for each in values.body["tolerations"]}
    assert len(tolerated) == len(values.body["tolerations"])
    seen = 0
    for one in karpenter(reference):
        if isinstance(one, Manifest) and one.kind == "NodePool" and one.name in ("train-h100", "batch-a100"):
            template = one.body["spec"]["template"]["spec"]
            taints = template["taints"] + template.get("startupTaints", [])
            seen += len(taints)
            assert {(each["key"], each["value"], each["effect"]) for each in taints} <= tolerated
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

"""The NodePools of a pool with a minimum of nodes."""

from collections.abc import Callable
from typing import Any

import pytest

from gpuc.manifest.manifest import Manifest, Values
from gpuc.model import Cluster
from gpuc.substrates.eks.karpenter.component import karpenter
from tests.conftest import Variant
from tests.emit.fleet import of_kind


def node_pools(cluster: Cluster, pool: str) -> list[Manifest]:
    found = of_kind(karpenter(cluster), "NodePool")
    return [row for row in found if row.body["spec"]["template"]["metadata"]["labels"]["gpuc.dev/pool"] == pool]


def with_minimum(**changes: Any) -> Callable[[dict[str, Any]], None]:
    def change(spec: dict[str, Any]) -> None:
        spec["pools"]["dev-l4"] |= {"nodes": {"min": 2, "max": 6}, **changes}
        spec["pools"]["dev-l4"]["eks"]["purchase"] = ["spot", "on-demand"]

    return change


def test_both_node_pools_together_have_the_maximum(variant: Variant) -> None:
    growth, warm = (manifest.body["spec"] for manifest in node_pools(variant(with_minimum()), "dev-l4"))
    assert (growth["limits"]["nodes"], warm["replicas"]) == ("4", 2)
    # The API server accepts only a limit of the nodes, and Karpenter starts the replacement of a node first.
    assert warm["limits"] == {"nodes": "3"} and "replicas" not in growth


def test_the_nodes_of_both_are_equal_except_that_warm_nodes_are_not_spot(variant: Variant) -> None:
    growth, warm = (manifest.body["spec"]["template"] for manifest in node_pools(variant(with_minimum()), "dev-l4"))
    key = "karpenter.sh/capacity-type"
    values = [
        {row["key"]: row["values"] for row in template["spec"].pop("requirements")} for template in (growth, warm)
    ]
    assert growth == warm
    assert [value.pop(key) for value in values] == [["spot", "on-demand"], ["on-demand"]]
    assert values[0] == values[1]


def test_karpenter_knows_the_shares_of_both(variant: Variant) -> None:
    cluster = variant(with_minimum())
    overlays = of_kind(karpenter(cluster), "NodeOverlay")
    rows = [item.body["spec"]["requirements"][0]["values"] for item in overlays if item.name.startswith("dev-l4")]
    assert rows and all(row == ["dev-l4", "dev-l4-warm"] for row in rows)
    (values,) = (item for item in karpenter(cluster) if isinstance(item, Values))
    assert values.body["settings"]["featureGates"]["staticCapacity"]


def test_a_leaving_pool_starts_no_nodes_and_keeps_running_ones(variant: Variant) -> None:
    growth, warm = (manifest.body["spec"] for manifest in node_pools(variant(with_minimum(leaving=True)), "dev-l4"))
    assert growth["limits"] == {"cpu": "0", "nodes": "0"}
    assert (warm["limits"], warm["replicas"]) == ({"nodes": "0"}, 2)


@pytest.mark.parametrize(
    ("prune", "option"), [("confirm", "Delete=confirm"), ("never", "Delete=false,Prune=false"), ("automatic", None)]
)
def test_argo_cd_removes_the_warm_nodes_with_the_minimum(variant: Variant, prune: str, option: str | None) -> None:
    def change(spec: dict[str, Any]) -> None:
        with_minimum()(spec)
        spec["delivery"]["prune"] = prune

    warm = node_pools(variant(change), "dev-l4")[1]
    assert warm.annotations.get("argocd.argoproj.io/sync-options") == option

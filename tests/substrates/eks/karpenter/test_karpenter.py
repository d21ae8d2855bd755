"""Karpenter objects of pools: values, schemas, limits, disruption and overlays."""

from typing import Any

import pytest

from gpuc.catalog import load
from gpuc.manifest.manifest import Values
from gpuc.model import Cluster
from gpuc.substrates.eks.karpenter.component import karpenter
from gpuc.substrates.eks.karpenter.node_class import efa_interfaces
from tests.conftest import Variant
from tests.emit.fleet import of_kind


def objects(cluster: Cluster, kind: str) -> dict[str, dict[str, Any]]:
    """Returns the specs of all objects of a kind, by name."""
    return {manifest.name: manifest.body["spec"] for manifest in of_kind(karpenter(cluster), kind)}


def values(cluster: Cluster) -> dict[str, Any]:
    (found,) = (artifact for artifact in karpenter(cluster) if isinstance(artifact, Values))
    return found.body


def requirement(spec: dict[str, Any], key: str) -> list[str]:
    (found,) = (
        requirement["values"]
        for requirement in spec["requirements"]
        if requirement["key"] == key and requirement["operator"] == "In"
    )
    return found


def test_c14_the_controller_is_guaranteed_and_grows_with_the_cluster(reference: Cluster, variant: Variant) -> None:
    resources = values(reference)["controller"]["resources"]
    assert resources["requests"] == resources["limits"] == {"cpu": "1", "memory": "1Gi"}
    large = variant(lambda spec: spec["pools"]["general"]["nodes"].update(max=500))
    resources = values(large)["controller"]["resources"]
    assert resources["requests"] == resources["limits"] == {"cpu": "3", "memory": "3Gi"}


def test_c26_a_root_volume_with_images_is_fast(reference: Cluster, variant: Variant) -> None:
    def disks(cluster: Cluster, pool: str) -> list[tuple[Any, Any]]:
        mappings = objects(cluster, "EC2NodeClass")[pool]["blockDeviceMappings"]
        return [(disk["ebs"].get("throughput"), disk["ebs"].get("iops")) for disk in mappings]

    image = {"family": "Ubuntu", "id": "ami-0c3f1a2b4d5e6f708"}
    ubuntu = variant(lambda spec: spec["cloud"]["aws"].update(image=image))
    assert disks(reference, "train-h100") == [(None, None)], "images are on the local disks"
    assert disks(ubuntu, "train-h100") == [(1000, 4000)]
    assert disks(ubuntu, "general") == [(None, None)]
    chosen = variant(lambda spec: spec["pools"]["general"]["eks"].update(rootVolumeThroughput=500))
    assert disks(chosen, "general") == [(500, 3000)]


def test_an_overlay_is_for_one_pool_and_one_type(variant: Variant) -> None:
    cluster = variant(lambda spec: spec["pools"]["dev-l4"].update(instances=["g6.12xlarge", "g6.48xlarge"]))
    overlays = objects(cluster, "NodeOverlay")
    shares = {name: overlay["capacity"]["nvidia.com/gpu.shared"] for name, overlay in overlays.items() if "dev" in name}
    assert shares == {"dev-l4-g6-12xlarge": "16", "dev-l4-g6-48xlarge": "32"}


def test_single_strategy_raises_the_count_of_gpus(variant: Variant) -> None:
    def single(spec: dict[str, Any]) -> None:
        spec["pools"]["serve-a100"]["sharing"] = {"mig": {"every": {"1g.10gb": 7}, "strategy": "single"}}
        spec["tenants"]["search"]["namespaces"]["search-serving"]["quota"] = {"serve-a100": {"nodes": 4}}

    overlay = objects(variant(single), "NodeOverlay")["serve-a100-p4de-24xlarge"]
    assert overlay["capacity"] == {"nvidia.com/gpu": "56"}


def test_gates_are_those_that_the_output_needs(reference: Cluster, variant: Variant) -> None:
    assert values(reference)["settings"]["featureGates"] == {"nodeOverlay": True, "reservedCapacity": True}
    static = variant(lambda spec: spec["pools"]["general"].update(nodes={"static": 10}))
    assert values(static)["settings"]["featureGates"]["staticCapacity"] is True


def test_static_pools_have_replicas_and_no_limit_but_nodes(variant: Variant) -> None:
    def static(spec: dict[str, Any]) -> None:
        spec["pools"]["train-h100"]["nodes"] = {"static": 16}
        spec["pools"]["train-h100"].setdefault("eks", {})["placement"] = "cluster"

    cluster = variant(static)
    pool = objects(cluster, "NodePool")["train-h100"]
    assert pool["replicas"] == 16
    assert pool["limits"] == {"nodes": "17"}  # also buys on demand, so a 17th node can start
    assert pool["template"]["spec"]["expireAfter"] == "Never"
    node_class = objects(cluster, "EC2NodeClass")["train-h100"]
    assert node_class["placementGroupSelector"] == {"name": "prod-use1-train-h100"}


@pytest.mark.parametrize(
    ("type", "efa_by_card"),
    [
        ("g6.8xlarge", {0: 1}),
        ("p4d.24xlarge", {0: 1, 1: 0, 2: 0, 3: 0}),
        ("p5.48xlarge", {0: 1} | dict.fromkeys(range(1, 32), 0)),
        ("p5en.48xlarge", {0: 1} | dict.fromkeys(range(1, 16), 0)),
        ("p6-b300.48xlarge", dict.fromkeys(range(1, 17), 0)),  # the first network card does not support EFA
    ],
)
def test_each_efa_is_on_a_card_of_its_own(type: str, efa_by_card: dict[int, int]) -> None:  # noqa: A002
    primary, *others = efa_interfaces(load().instances[type])
    assert primary == {"networkCardIndex": 0, "deviceIndex": 0, "interfaceType": "interface"}
    assert {interface["interfaceType"] for interface in others} == {"efa-only"}
    assert {interface["networkCardIndex"]: interface["deviceIndex"] for interface in others} == efa_by_card
    assert len(others) == len(efa_by_card)


@pytest.mark.parametrize(
    ("image", "disks", "terms"),
    [
        ("al2023@v20260815", {"/dev/xvda": "300Gi"}, {"amiSelectorTerms": [{"alias": "al2023@v20260815"}]}),
        (
            "bottlerocket@v1.40.0",
            {"/dev/xvda": "4Gi", "/dev/xvdb": "300Gi"},
            {"amiSelectorTerms": [{"alias": "bottlerocket@v1.40.0"}]},
        ),
        (
            {"family": "Ubuntu", "id": "ami-0123456789abcdef0"},
            {"/dev/sda1": "300Gi"},
            {"amiFamily": "Custom", "amiSelectorTerms": [{"id": "ami-0123456789abcdef0"}]},
        ),
    ],
)
def test_images_decide_about_devices(
    variant: Variant, image: str | dict[str, str], disks: dict[str, str], terms: dict[str, Any]
) -> None:
    def change(spec: dict[str, Any]) -> None:
        spec["pools"]["dev-l4"]["eks"] |= {"image": image, "rootVolume": "300Gi"}

    spec = objects(variant(change), "EC2NodeClass")["dev-l4"]
    assert {disk["deviceName"]: disk["ebs"]["volumeSize"] for disk in spec["blockDeviceMappings"]} == disks
    (root,) = (disk for disk in spec["blockDeviceMappings"] if disk["rootVolume"])
    assert root["ebs"]["volumeSize"] == "300Gi"
    assert {key: spec[key] for key in terms} == terms
    # On Ubuntu nothing configures the local disks, so pods must not use them.
    assert ("instanceStorePolicy" in spec) == (image != {"family": "Ubuntu", "id": "ami-0123456789abcdef0"})

"""Karpenter objects of pools: values, schemas, limits, disruption and overlays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from gpuc.catalog import load
from gpuc.kubernetes.quantity import parse_quantity
from gpuc.manifest.manifest import Manifest, Values
from gpuc.model import Cluster
from gpuc.substrates.eks.karpenter.component import karpenter
from gpuc.substrates.eks.karpenter.node_class import efa_interfaces
from tests.verify.findings import verify_schemas, verify_values

Variant = Callable[[Callable[[dict[str, Any]], object]], Cluster]


def objects(cluster: Cluster, kind: str) -> dict[str, dict[str, Any]]:
    """Returns the specs of all objects of a kind, by name."""
    return {
        manifest.name: manifest.body["spec"]
        for manifest in karpenter(cluster)
        if isinstance(manifest, Manifest) and manifest.kind == kind
    }


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


def test_the_api_server_and_the_chart_would_take_it(reference: Cluster) -> None:
    artifacts = list(karpenter(reference))
    manifests = [manifest for manifest in artifacts if isinstance(manifest, Manifest)]
    assert len(manifests) == 2 + 7 + 6 + 7  # FlowSchemas; EC2NodeClass, NodePool and overlay of each pool
    assert verify_schemas(manifests, reference.spec.kubernetes) == []
    found = [artifact for artifact in artifacts if isinstance(artifact, Values)]
    assert verify_values(found, reference.components) == []


def test_c14_the_controller_is_guaranteed_and_grows_with_the_cluster(reference: Cluster, variant: Variant) -> None:
    resources = values(reference)["controller"]["resources"]
    assert resources["requests"] == resources["limits"] == {"cpu": "1", "memory": "1Gi"}
    large = variant(lambda spec: spec["pools"]["general"]["nodes"].update(max=500))
    resources = values(large)["controller"]["resources"]
    assert resources["requests"] == resources["limits"] == {"cpu": "3", "memory": "3Gi"}


def test_c14_the_controller_has_the_api_priority_of_the_system(reference: Cluster) -> None:
    schemas = objects(reference, "FlowSchema")
    levels = {name: spec["priorityLevelConfiguration"]["name"] for name, spec in schemas.items()}
    assert levels == {"karpenter-leader-election": "leader-election", "karpenter-workload": "workload-high"}
    for spec in schemas.values():
        assert spec["matchingPrecedence"] < 9000, "the precedence of the FlowSchema service-accounts"
        (rule,) = spec["rules"]
        account = {"name": "karpenter", "namespace": reference.components["karpenter"].namespace}
        assert rule["subjects"] == [{"kind": "ServiceAccount", "serviceAccount": account}]


def test_c26_instances_have_the_tags_of_a_cost_report(reference: Cluster) -> None:
    tags = {name: spec["tags"] for name, spec in objects(reference, "EC2NodeClass").items()}
    always = {"gpuc.dev/cluster": "prod-use1", "gpuc.dev/environment": "prod", "owner": "gpu-platform"}
    assert tags["train-h100"] == always | {"gpuc.dev/pool": "train-h100"}, "the pool has two tenants"
    assert tags["lab-h100"] == always | {"gpuc.dev/pool": "lab-h100", "gpuc.dev/cost-centre": "CC-12345"}
    own = {"gpuc.dev/pool": "embed-l40s", "gpuc.dev/tenant": "platform-ml", "gpuc.dev/cost-centre": "CC-1"}
    assert tags["embed-l40s"] == always | own, "the tenant is dedicated"


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


def test_a_file_holds_one_pool_in_the_order_of_its_waves(reference: Cluster) -> None:
    files: dict[str, list[tuple[str, str]]] = {}
    for manifest in karpenter(reference):
        if isinstance(manifest, Manifest) and "/pools/" in manifest.file:
            wave = manifest.annotations["argocd.argoproj.io/sync-wave"]
            files.setdefault(manifest.file, []).append((manifest.kind, wave))
            assert manifest.annotations["argocd.argoproj.io/sync-options"] == "Delete=confirm,Prune=false"
    assert files["out/prod-use1/karpenter/pools/lab-h100.yaml"] == [
        ("EC2NodeClass", "0"), ("NodeOverlay", "1"), ("NodePool", "2"),
    ]  # fmt: skip
    assert len(files) == 7


@pytest.mark.parametrize(
    ("overlay", "capacity"),
    [
        # Eight GPUs, each 3g.40gb + 2g.20gb + 2 x 1g.10gb.
        ("serve-a100-p4de-24xlarge", {"nvidia.com/gpu": 0, "nvidia.com/mig-3g.40gb": 8, "nvidia.com/mig-2g.20gb": 8,
                                      "nvidia.com/mig-1g.10gb": 16}),
        # Four GPUs with seven slices, two GPUs with two slices, two complete GPUs.
        ("lab-h100-p5-48xlarge", {"nvidia.com/gpu": 2, "nvidia.com/mig-1g.10gb": 28, "nvidia.com/mig-3g.40gb": 4}),
        ("dev-l4-g6-12xlarge", {"nvidia.com/gpu": 0, "nvidia.com/gpu.shared": 4 * 4}),
        ("embed-l40s-g6e-12xlarge", {"nvidia.com/gpu": 0, "nvidia.com/gpu.shared": 4 * 8}),
        # The overlay does not repeat what Karpenter predicts itself.
        ("train-h100-p5-48xlarge", {"hugepages-2Mi": 5128 * 2 * 2**20}),
        ("batch-a100-p4d-24xlarge", {"hugepages-2Mi": 5128 * 2 * 2**20}),
    ],
)  # fmt: skip
def test_overlays_say_what_nodes_advertise(reference: Cluster, overlay: str, capacity: dict[str, int]) -> None:
    spec = objects(reference, "NodeOverlay")[overlay]
    assert {name: parse_quantity(text) for name, text in spec["capacity"].items()} == capacity
    pool, instance = requirement(spec, "karpenter.sh/nodepool"), requirement(spec, "node.kubernetes.io/instance-type")
    assert overlay == f"{pool[0]}-{instance[0].replace('.', '-')}"


def test_an_overlay_is_for_one_pool_and_one_type(variant: Variant) -> None:
    def two_types(spec: dict[str, Any]) -> None:
        spec["pools"]["dev-l4"]["instances"] = ["g6.12xlarge", "g6.48xlarge"]

    overlays = objects(variant(two_types), "NodeOverlay")
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

    def static(spec: dict[str, Any]) -> None:
        spec["pools"]["general"]["nodes"] = {"static": 10}

    assert values(variant(static))["settings"]["featureGates"]["staticCapacity"] is True


def test_the_controller_reserves_memory_as_quotas_do(reference: Cluster) -> None:
    settings = values(reference)["settings"]
    assert settings["vmMemoryOverheadPercent"] == 0.075
    assert (settings["clusterName"], settings["interruptionQueue"]) == ("prod-use1", "prod-use1")


def test_limits_are_multiples_of_one_instance(reference: Cluster) -> None:
    for name, spec in objects(reference, "NodePool").items():
        types = requirement(spec["template"]["spec"], "node.kubernetes.io/instance-type")
        instances = [instance for instance in map(load().instance_type, types) if instance is not None]
        largest = max(instances, key=lambda instance: instance.vcpu)
        limits = spec["limits"]
        assert all(isinstance(text, str) for text in limits.values())
        nodes, rest = divmod(int(parse_quantity(limits["cpu"])), largest.vcpu)
        assert (rest, str(nodes)) == (0, limits["nodes"]), name
        if "nvidia.com/gpu" in limits:
            assert int(limits["nvidia.com/gpu"]) == nodes * largest.gpu_count


def test_sliced_and_shared_pools_are_not_limited_by_gpus_that_the_overlay_lowers(reference: Cluster) -> None:
    bounded = {name for name, spec in objects(reference, "NodePool").items() if "nvidia.com/gpu" in spec["limits"]}
    assert bounded == {"train-h100", "batch-a100"}


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


def test_nodes_outlive_the_longest_run(reference: Cluster) -> None:
    pools = {name: spec["template"]["spec"] for name, spec in objects(reference, "NodePool").items()}
    lives = {name: (spec["expireAfter"], spec.get("terminationGracePeriod")) for name, spec in pools.items()}
    assert lives["train-h100"] == lives["batch-a100"] == ("Never", None)
    assert lives["dev-l4"] == ("Never", "1h")


def test_idle_nodes_go_and_used_ones_of_gpu_pools_stay(reference: Cluster) -> None:
    found = {name: spec["disruption"] for name, spec in objects(reference, "NodePool").items()}
    assert {name: (block["consolidationPolicy"], block["consolidateAfter"]) for name, block in found.items()} == {
        "general": ("WhenEmptyOrUnderutilized", "10m"),
        "train-h100": ("WhenEmpty", "30m"),
        "batch-a100": ("WhenEmpty", "30m"),
        "serve-a100": ("WhenEmpty", "10m"),
        "lab-h100": ("WhenEmpty", "10m"),
        "dev-l4": ("WhenEmpty", "10m"),
        "embed-l40s": ("WhenEmpty", "10m"),
    }


def test_budgets_stop_drift_in_working_hours_only(reference: Cluster) -> None:
    for name, spec in objects(reference, "NodePool").items():
        always = {
            reason: budget["nodes"]
            for budget in spec["disruption"]["budgets"]
            if "schedule" not in budget
            for reason in budget["reasons"]
        }
        assert always["Empty"] == "100%"
        # A "0" without a schedule would keep old images forever.
        assert always["Drifted"] == always["Underutilized"] == ("10%" if name == "general" else "1")
        assert all(("schedule" in budget) == ("duration" in budget) for budget in spec["disruption"]["budgets"])


def test_reservations_are_named_where_reserved_capacity_is_bought(reference: Cluster) -> None:
    classes, pools = objects(reference, "EC2NodeClass"), objects(reference, "NodePool")
    for name, pool in pools.items():
        buys = requirement(pool["template"]["spec"], "karpenter.sh/capacity-type")
        assert ("reserved" in buys) == ("capacityReservationSelectorTerms" in classes[name]), name


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


def test_efa_pools_list_their_interfaces_and_have_no_public_address(reference: Cluster) -> None:
    classes = objects(reference, "EC2NodeClass")
    efa = {name for name, spec in classes.items() if "networkInterfaces" in spec}
    assert efa == {"train-h100", "batch-a100"}
    assert all(classes[name]["associatePublicIPAddress"] is False for name in efa)
    pools = objects(reference, "NodePool")
    for name in efa:
        assert len(requirement(pools[name]["template"]["spec"], "topology.kubernetes.io/zone")) == 1


def test_nodes_find_their_subnets_and_security_groups_by_the_tag_of_the_cluster(reference: Cluster) -> None:
    for spec in objects(reference, "EC2NodeClass").values():
        terms = [{"tags": {"karpenter.sh/discovery": reference.name}}]
        assert (spec["subnetSelectorTerms"], spec["securityGroupSelectorTerms"]) == (terms, terms)


def test_pods_cannot_reach_credentials_and_disks_are_encrypted(reference: Cluster) -> None:
    for spec in objects(reference, "EC2NodeClass").values():
        assert (spec["metadataOptions"]["httpTokens"], spec["metadataOptions"]["httpPutResponseHopLimit"]) == (
            "required", 1,
        )  # fmt: skip
        assert all(disk["ebs"]["encrypted"] for disk in spec["blockDeviceMappings"])


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


def test_c18_every_node_has_a_taint_that_pods_of_the_platform_do_not_tolerate(reference: Cluster) -> None:
    """Karpenter starts no node for Kueue, the GPU Operator or CoreDNS: these pods stay on the system nodes."""
    for name, spec in objects(reference, "NodePool").items():
        taints = spec["template"]["spec"]["taints"]
        assert any(taint["effect"] == "NoSchedule" for taint in taints), name
    general = objects(reference, "NodePool")["general"]["template"]["spec"]["taints"]
    assert {"key": "gpuc.dev/pool", "value": "general", "effect": "NoSchedule"} in general

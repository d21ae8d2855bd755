"""The simulated provider leaves to tenants what the model predicts, for every pool of every example."""

from __future__ import annotations

from typing import Any

import pytest

from compiler.model import Cluster, Pool
from compiler.model.names import HUGEPAGES, POOL_LABEL
from compiler.quantity import parse_quantity
from compiler.rehearse.instance_types import (
    INSTANCE_TYPE_LABEL,
    OVERHEAD_CPU_MILLI,
    OVERHEAD_MEMORY_BYTES,
    instance_types,
    node_allocatable,
    reserves,
)
from tests.conftest import EXAMPLES, example


def _requests(cluster: Cluster, pool: Pool, type_name: str) -> dict[str, str]:
    """What DaemonSets ask of the pool's nodes of a type, as Karpenter finds it."""
    for daemonset in reserves(cluster):
        spec: Any = daemonset["spec"]["template"]["spec"]
        (term,) = spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][
            "nodeSelectorTerms"
        ]
        wanted = {each["key"]: each["values"] for each in term["matchExpressions"]}
        if wanted == {POOL_LABEL: [pool.name], INSTANCE_TYPE_LABEL: [type_name]}:
            requests: dict[str, str] = spec["containers"][0]["resources"]["requests"]
            return requests
    return {}


@pytest.mark.parametrize("name", EXAMPLES)
def test_karpenter_comes_to_what_the_model_leaves(name: str) -> None:
    cluster = example(name)
    offered = {each["name"]: each["resources"] for each in instance_types(cluster)}
    for pool in cluster.pools:
        for instance in pool.instances:
            has, asked, left = offered[instance.type], _requests(cluster, pool, instance.type), pool.left(instance)
            cpu = 1000 * parse_quantity(has["cpu"]) - OVERHEAD_CPU_MILLI - 1000 * parse_quantity(asked.get("cpu", "0"))
            memory = parse_quantity(has["memory"]) - OVERHEAD_MEMORY_BYTES - parse_quantity(asked.get("memory", "0"))
            assert cpu == left["cpu"], pool.name
            assert memory - left.get(HUGEPAGES, 0) == left["memory"], pool.name


def test_a_layout_lowers_whole_gpus_on_the_node() -> None:
    cluster = example("prod-use1")
    pool = next(each for each in cluster.pools if each.name == "serve-a100")
    assert node_allocatable(cluster, pool, pool.instances[0])["nvidia.com/gpu"] == 0


def test_every_way_of_purchase_is_offered_in_every_zone() -> None:
    cluster = example("prod-use1")
    for each in instance_types(cluster):
        found = {tuple(rule["values"][0] for rule in offer["Requirements"][-2:]) for offer in each["offerings"]}
        assert found == {
            (zone, purchase) for zone in cluster.aws.zones for purchase in ("reserved", "spot", "on-demand")
        }

"""Advertised and allocatable resources, labels and taints of pools, compared with independent arithmetic."""

import pytest

from gpuc.kubernetes.amounts import GIB, MIB
from gpuc.model import Cluster
from gpuc.substrates.eks.scaling import JOIN_MINUTES, eks
from tests.conftest import EXAMPLES, example


def pool(cluster: Cluster, name: str):
    return next(pool for pool in cluster.pools if pool.name == name)


@pytest.mark.parametrize(
    ("cluster", "name", "advertised"),
    [
        ("prod-use1", "general", {}),
        ("prod-use1", "train-h100", {"nvidia.com/gpu": 8, "vpc.amazonaws.com/efa": 32, "hugepages-2Mi": 10256 * MIB}),
        ("prod-use1", "batch-a100", {"nvidia.com/gpu": 8, "vpc.amazonaws.com/efa": 4, "hugepages-2Mi": 10256 * MIB}),
        (
            "prod-use1", "serve-a100",
            {"nvidia.com/mig-1g.10gb": 16, "nvidia.com/mig-2g.20gb": 8, "nvidia.com/mig-3g.40gb": 8},
        ),
        ("prod-use1", "lab-h100", {"nvidia.com/gpu": 2, "nvidia.com/mig-1g.10gb": 28, "nvidia.com/mig-3g.40gb": 4}),
        ("prod-use1", "dev-l4", {"nvidia.com/gpu.shared": 16}),
        ("prod-use1", "embed-l40s", {"nvidia.com/gpu.shared": 32}),
        ("train-usw2", "core-b200", {"nvidia.com/gpu": 8, "vpc.amazonaws.com/efa": 8, "hugepages-2Mi": 10256 * MIB}),
        (
            "infer-euw1", "models-a100",
            {"nvidia.com/mig-1g.5gb": 16, "nvidia.com/mig-2g.10gb": 8, "nvidia.com/mig-3g.20gb": 8},
        ),
        ("infer-euw1", "notebooks-l4", {"nvidia.com/gpu.shared": 4}),
    ],
)  # fmt: skip
def test_advertised(cluster: str, name: str, advertised: dict[str, int]) -> None:
    found = pool(example(cluster), name)
    assert found.advertised(found.instances[0]) == advertised


def test_kubelet_daemonsets_and_huge_pages_reduce_a_training_node(prod: Cluster) -> None:
    node = pool(prod, "train-h100").node
    daemonsets = prod.catalog.daemonsets
    agents = 1000, 2048  # nodeAgents of the spec: log-agent and node-monitoring-agent
    cpu = 191450 - 1000 - agents[0] - sum(row.cpu_milli for row in daemonsets)
    memory = (1938410 - 10256 - agents[1] - sum(row.memory_mib for row in daemonsets)) * MIB
    assert (node["cpu"], node["memory"]) == (cpu // 1000 * 1000, memory // GIB * GIB), "full cores and GiB"


def test_s7_quotas_leave_room_for_the_daemonsets_of_others(prod: Cluster) -> None:
    def agents(name: str) -> set[str]:
        return {row.name for row in pool(prod, name).daemonsets if row.component == "spec"}

    assert agents("train-h100") == {"log-agent", "node-monitoring-agent"}
    assert agents("general") == {"log-agent"}
    general = pool(prod, "general")
    known = sum(row.cpu_milli for row in prod.catalog.daemonsets if row.nodes == "all")
    instance = general.instances[0]
    used = general.allocatable(instance)["cpu"] - general.tenant_allocatable(instance)["cpu"]
    assert used == known + 500


def test_a_pool_with_several_types_counts_the_smallest(prod: Cluster) -> None:
    general = pool(prod, "general")
    smaller = general.tenant_allocatable(general.instances[0])
    assert general.instances[0].vcpu < general.instances[1].vcpu
    assert general.node["cpu"] == smaller["cpu"] // 1000 * 1000


def test_s3_every_gpu_node_starts_with_the_taint_that_the_gate_removes() -> None:
    for pool in (pool for name in EXAMPLES for pool in example(name).pools):
        assert [taint.key for taint in pool.gpu_taints] == (["gpuc.dev/gpus"] if pool.is_gpu else []), pool.name
        assert set(pool.gpu_taints) <= set(pool.startup_taints) & set(pool.agent_taints)


def test_s1_operands_wait_where_user_data_cuts_gpus() -> None:
    held = {pool.name for name in EXAMPLES for pool in example(name).pools if pool.startup_labels}
    assert held == {"serve-a100", "lab-h100"}
    assert pool(example("prod-use1"), "serve-a100").startup_labels == {"nvidia.com/gpu.deploy.operands": "false"}


def test_s1_a_node_joins_within_the_time_of_karpenter() -> None:
    assert JOIN_MINUTES < 15


def test_the_mig_manager_label_is_only_on_pools_with_mig_by_the_operator(prod: Cluster) -> None:
    assert all("nvidia.com/mig.config" not in pool.labels for pool in prod.pools)
    models = pool(example("infer-euw1"), "models-a100")
    assert models.labels["nvidia.com/mig.config"] == "gpuc-models-a100"


def test_dedicated_pools_have_the_taint_of_their_tenant(prod: Cluster) -> None:
    tainted = {pool.name: pool.dedicated_to for pool in prod.pools if pool.dedicated_to}
    assert tainted == {"embed-l40s": "platform-ml"}


def test_nodes_with_cilium_wait_for_its_agent() -> None:
    keys = {taint.key for pool in example("train-usw2").pools for taint in pool.startup_taints}
    assert keys == {"node.cilium.io/agent-not-ready", "gpuc.dev/gpus"}
    assert all(pool.startup_taints == pool.gpu_taints for pool in example("prod-use1").pools)


def test_the_requests_of_the_gpu_gate_are_subtracted() -> None:
    models = pool(example("infer-euw1"), "models-a100")
    instance = models.instances[0]
    agents = sum(row.cpu_milli for row in models.daemonsets)
    assert models.allocatable(instance)["cpu"] - models.tenant_allocatable(instance)["cpu"] == agents + 10


def test_c19_the_last_start_of_a_run_on_a_capacity_block() -> None:
    found, endless = (pool(example("train-usw2"), name) for name in ("sprint-h200", "core-h200"))
    hold_at = eks(found).hold_at(found.boot_minutes)
    assert hold_at is not None and hold_at.isoformat() == "2027-01-29T10:32:00+00:00"
    assert eks(endless).hold_at(endless.boot_minutes) is None

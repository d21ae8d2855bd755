"""Quotas of queues as resources, compared with independent arithmetic."""

import pytest

from gpuc.kubernetes.amounts import MIB, total
from gpuc.model import Cluster, ClusterQueue, PoolQuota
from tests.conftest import EXAMPLES, example


def cluster_queue(cluster: Cluster, name: str) -> ClusterQueue:
    return next(part for queue in cluster.queues for part in queue.cluster_queues if part.name == name)


def pool_quota(cluster: Cluster, queue: str, pool: str) -> PoolQuota:
    return next(pool_quota for pool_quota in cluster_queue(cluster, queue).pool_quotas if pool_quota.pool.name == pool)


def test_a_quota_in_nodes_covers_all_resources_of_the_nodes(prod: Cluster) -> None:
    found = pool_quota(prod, "research", "train-h100")
    assert found.nominal == {name: 10 * amount for name, amount in found.pool.node.items()}
    assert found.nominal["nvidia.com/gpu"] == 80
    assert found.nominal["vpc.amazonaws.com/efa"] == 320
    assert found.borrow is not None and found.borrow["nvidia.com/gpu"] == 48
    assert found.lend is not None and found.lend["nvidia.com/gpu"] == 32


def test_all_means_no_limit(prod: Cluster) -> None:
    found = pool_quota(prod, "research", "batch-a100")
    assert found.borrow is None and found.lend is None


def test_a_quota_in_slices_includes_their_part_of_the_node(prod: Cluster) -> None:
    found = pool_quota(prod, "search", "serve-a100")
    node = found.pool.node
    # A GPU has an eighth of the node; slices have 4/8, 2/8 and 1/8 of it. Each slice is rounded down.
    cpu = 32 * (node["cpu"] * 4 // 64) + 32 * (node["cpu"] * 2 // 64) + 64 * (node["cpu"] // 64)
    assert found.nominal["cpu"] == cpu
    memory = sum(count * (node["memory"] * part // 64 // MIB) for count, part in ((32, 4), (32, 2), (64, 1)))
    assert found.nominal["memory"] == memory * MIB
    assert found.nominal["nvidia.com/mig-2g.20gb"] == 32


def test_whole_gpus_beside_slices_include_an_eighth_of_the_node(prod: Cluster) -> None:
    found = pool_quota(prod, "research", "lab-h100")
    node = found.pool.node["cpu"]
    assert found.nominal["nvidia.com/gpu"] == 4
    assert found.nominal["cpu"] == 4 * node // 8 + 56 * (node // 64) + 8 * (node * 4 // 64)


def test_a_quota_in_gpu_shares_includes_their_part_of_the_node(prod: Cluster) -> None:
    found = pool_quota(prod, "research", "dev-l4")
    assert found.nominal["nvidia.com/gpu.shared"] == 96
    assert found.nominal["cpu"] == 96 * (found.pool.node["cpu"] // 16)


def test_general_pools_have_a_separate_cluster_queue(prod: Cluster) -> None:
    names = [part.name for queue in prod.queues for part in queue.cluster_queues]
    assert names == ["research", "research-cpu", "search", "search-cpu", "platform-ml"]
    assert [pool.name for pool in cluster_queue(prod, "research-cpu").pools] == ["general"]


def test_without_a_cohort_nothing_is_borrowed_or_lent(prod: Cluster) -> None:
    found = pool_quota(prod, "platform-ml", "embed-l40s")
    assert set((found.borrow or {}).values()) == {0} and set((found.lend or {}).values()) == {0}


def test_the_ceiling_of_a_tenant_is_its_quota_and_what_others_lend(prod: Cluster) -> None:
    research = next(tenant for tenant in prod.tenants if tenant.name == "research")
    train = (10 + min(6, 6)) * 8
    batch = (4 + 4) * 8
    lab = 4
    assert research.ceiling["nvidia.com/gpu"] == train + batch + lab


def test_lent_quota_does_not_depend_on_the_borrowing_limit(prod: Cluster) -> None:
    found = {queue.name: queue for queue in prod.queues}
    train = pool_quota(prod, "search", "train-h100")
    assert prod.lent(found["search"], train)["nvidia.com/gpu"] == 4 * 8, "research lends four nodes"
    assert prod.ceiling(found["search"], train)["nvidia.com/gpu"] == (6 + 4) * 8
    assert set(prod.lent(found["platform-ml"], pool_quota(prod, "platform-ml", "embed-l40s")).values()) == {0}


@pytest.mark.parametrize("name", EXAMPLES)
def test_quotas_do_not_exceed_the_capacity_of_pools(name: str) -> None:
    cluster = example(name)
    for pool in cluster.pools:
        pool_quotas = [
            pool_quota for queue in cluster.queues for pool_quota in queue.pool_quotas if pool_quota.pool is pool
        ]
        promised = total(pool_quota.nominal for pool_quota in pool_quotas)
        assert all(promised[resource] <= pool.capacity[resource] for resource in promised), pool.name

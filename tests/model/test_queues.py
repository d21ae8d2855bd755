"""Quotas of queues as resources, compared with independent arithmetic."""

import pytest

from gpuc.kubernetes.amounts import GIB, total
from gpuc.model import Cluster, ClusterQueue, Namespace, PoolQuota
from gpuc.model.gpu_pool import GpuPool
from gpuc.model.tenant import NamespaceQuota
from tests.conftest import EXAMPLES, example


def cluster_queue(cluster: Cluster, name: str) -> ClusterQueue:
    return next(part for queue in cluster.queues for part in queue.cluster_queues if part.name == name)


def pool_quota(cluster: Cluster, queue: str, pool: str) -> PoolQuota:
    return next(pool_quota for pool_quota in cluster_queue(cluster, queue).pool_quotas if pool_quota.pool.name == pool)


def namespace(cluster: Cluster, name: str) -> Namespace:
    return next(row for _, row in cluster.namespaces if row.name == name)


def namespace_quota(cluster: Cluster, name: str, pool: str) -> NamespaceQuota:
    return next(quota for quota in namespace(cluster, name).quotas if quota.pool.name == pool)


def cores(milli: int) -> int:
    """The cpu of full cores."""
    return milli // 1000 * 1000


def tenths(milli: int) -> int:
    """The cpu in full tenths of cores."""
    return milli // 100 * 100


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
    found = namespace_quota(prod, "search-serving", "serve-a100")
    node = found.pool.node
    # A GPU has an eighth of the node; slices have 4/8, 2/8 and 1/8 of it. Each slice is rounded down.
    parts = ((32, 4), (32, 2), (64, 1))
    assert found.amounts["cpu"] == sum(count * tenths(node["cpu"] * part // 64) for count, part in parts)
    assert found.amounts["memory"] == sum(count * (node["memory"] * part // 64 // GIB) for count, part in parts) * GIB
    assert found.amounts["nvidia.com/mig-2g.20gb"] == 32


def test_whole_gpus_beside_slices_include_an_eighth_of_the_node(prod: Cluster) -> None:
    found = pool_quota(prod, "research", "lab-h100")
    node = found.pool.node["cpu"]
    assert found.nominal["nvidia.com/gpu"] == 4
    assert found.nominal["cpu"] == 4 * cores(node // 8) + 56 * tenths(node // 64) + 8 * tenths(node * 4 // 64)


def test_a_quota_in_gpu_shares_includes_their_part_of_the_node(prod: Cluster) -> None:
    found = pool_quota(prod, "research", "dev-l4")
    assert found.nominal["nvidia.com/gpu.shared"] == 96
    assert found.nominal["cpu"] == 96 * tenths(found.pool.node["cpu"] // 16)


def test_t5_slices_do_not_waste_the_cores_of_a_node() -> None:
    """Three slices of 2g and one of 1g use 7 of the 8 memory slices of each A100. Full cores were 56 of 94 cores."""
    found = pool_quota(example("vega-prod"), "nlp", "slices-a100")
    pool, nodes = found.pool, 2
    assert isinstance(pool, GpuPool)
    parts = [pool.portions[f"nvidia.com/mig-{profile}"]["cpu"] for profile in ("2g.10gb", "1g.5gb")]
    assert parts == [2900, 1400]
    assert found.nominal["cpu"] == 48 * parts[0] + 16 * parts[1] > nodes * pool.node["cpu"] * 5 // 6
    assert found.nominal["cpu"] <= nodes * pool.node["cpu"] * 7 // 8


def test_general_pools_have_a_separate_cluster_queue(prod: Cluster) -> None:
    names = [part.name for queue in prod.queues for part in queue.cluster_queues]
    assert names == ["research", "research-cpu", "search", "search-cpu"]
    assert [pool.name for pool in cluster_queue(prod, "research-cpu").pools] == ["general"]


def test_without_a_cohort_nothing_is_borrowed_or_lent() -> None:
    found = pool_quota(example("train-usw2"), "data-cpu", "data")
    assert set((found.borrow or {}).values()) == {0} and set((found.lend or {}).values()) == {0}


def test_the_ceiling_of_a_tenant_is_its_quota_and_what_others_lend(prod: Cluster) -> None:
    research = namespace(prod, "research-train")
    train = (10 + min(6, 6)) * 8
    batch = (4 + 4) * 8
    lab = 4
    assert research.ceiling["nvidia.com/gpu"] == train + batch + lab
    assert research.hard == research.ceiling


def test_the_limit_of_a_namespace_is_the_ceiling_of_its_queues_and_its_own_quota(prod: Cluster) -> None:
    infer = example("infer-euw1")
    assistants = namespace(infer, "assistants-serving")
    own = namespace_quota(infer, "assistants-serving", "rerank-l4")
    assert assistants.hard["nvidia.com/gpu"] == 8 and "nvidia.com/gpu" not in assistants.ceiling
    assert assistants.hard["cpu"] == assistants.ceiling["cpu"] + own.amounts["cpu"]
    assert namespace(prod, "search-serving").ceiling == namespace(prod, "embeddings").ceiling == {}


def test_pools_are_counted_by_their_purpose_or_by_the_spec(prod: Cluster) -> None:
    """C4: ResourceQuotas count inference pools, unless the spec decides otherwise."""
    assert {pool.name for pool in prod.pools if pool.counted == "quota"} == {"serve-a100", "embed-l40s"}
    inference = {pool.name: pool.counted for pool in example("infer-euw1").pools if pool.spec.purpose == "inference"}
    assert inference == {"models-a100": "kueue", "embed-l4": "quota", "rerank-l4": "quota"}


def test_lent_quota_does_not_depend_on_the_borrowing_limit(prod: Cluster) -> None:
    search, key = prod.quota_nodes["search"], ("train-h100", "nvidia.com/gpu")
    assert search.lent(key) == 4 * 8, "research lends four nodes"
    assert search.capacity(key) == (6 + 4) * 8


@pytest.mark.parametrize("name", EXAMPLES)
def test_quotas_do_not_exceed_the_capacity_of_pools(name: str) -> None:
    cluster = example(name)
    for pool in cluster.pools:
        quotas = [quota for _, row in cluster.namespaces for quota in row.quotas]
        queued = [pool_quota for queue in cluster.queues for pool_quota in queue.pool_quotas]
        promised = total(
            [
                *(pool_quota.nominal for pool_quota in queued if pool_quota.pool is pool),
                *(quota.amounts for quota in quotas if quota.pool is pool),
            ]
        )
        assert promised, pool.name
        assert all(promised[resource] <= pool.capacity[resource] for resource in promised), pool.name

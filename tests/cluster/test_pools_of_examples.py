"""The pools of the example specs, and the same pools as lint, trace and plan read them from the objects."""

from functools import cache

import pytest

from gpuc.cluster.pools import Pools
from gpuc.emit.emitters import emit
from gpuc.kubernetes.node_pool import NODE_POOL
from gpuc.kubernetes.toleration import Taint
from gpuc.model.names import GPU
from gpuc.model.pool import Pool
from gpuc.objects.object_set import emitted
from gpuc.substrates.eks.scaling import aws, eks
from tests.conftest import EXAMPLES, HUB_CLUSTERS, example

CLUSTERS = (*EXAMPLES, "custom-euc1", *HUB_CLUSTERS)
POOLS = [(name, pool) for name in CLUSTERS for pool in example(name).pools]
each_pool = pytest.mark.parametrize(("name", "pool"), POOLS, ids=[f"{name}-{pool.name}" for name, pool in POOLS])


@cache
def read(name: str) -> Pools:
    cluster = example(name)
    return Pools(emitted(emit(cluster), cluster.catalog))


def taints(pool: tuple[Taint, ...]) -> list[tuple[str, str, str]]:
    return [(taint.key, taint.value, taint.effect) for taint in pool]


@each_pool
def test_labels_taints_and_places_are_those_of_the_spec(name: str, pool: Pool) -> None:
    found = [node_pool for node_pool in read(name).pools if node_pool.of_spec == pool.name]
    assert tuple(node_pool.name for node_pool in found) == eks(pool).node_pools
    for node_pool in found:
        own = {"karpenter.k8s.aws/ec2nodeclass": pool.name, NODE_POOL: node_pool.name}
        assert node_pool.labels == {**pool.labels, **pool.startup_labels, **own}
        assert taints(node_pool.taints) == taints(pool.taints)
        assert taints(node_pool.startup_taints) == taints(pool.startup_taints)
        assert node_pool.manifest.origin == pool.path
        assert node_pool.region == aws(example(name)).region


@each_pool
def test_the_numbers_of_nodes_are_those_of_the_spec(name: str, pool: Pool) -> None:
    found = [node_pool for node_pool in read(name).pools if node_pool.of_spec == pool.name]
    assert sum(node_pool.startable or 0 for node_pool in found) == (0 if pool.spec.leaving else pool.nodes_max)
    assert sum(node_pool.replicas or 0 for node_pool in found) == pool.always_running
    assert {node_pool.is_closed for node_pool in found} == {pool.spec.leaving}
    declared = eks(pool).reserved_instances
    assert found[0].reserved_nodes == declared


@each_pool
def test_the_resources_of_nodes_are_those_of_the_spec(name: str, pool: Pool) -> None:
    for node_pool in read(name).pools:
        if node_pool.of_spec != pool.name:
            continue
        assert node_pool.is_known
        assert sorted(row.type for row in node_pool.types) == sorted(row.type for row in pool.instances)
        assert bool(node_pool.gpus) == pool.is_gpu
        for instance in pool.instances:
            resources, allocatable = node_pool.allocatable(instance), pool.allocatable(instance)
            assert {key: resources.get(key) for key in allocatable} == allocatable
            assert GPU in allocatable or not resources.get(GPU)

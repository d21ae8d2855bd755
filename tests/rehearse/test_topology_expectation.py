"""Queues that have pools with and without a topology: topology-aware work runs only on pools with a topology."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpuc.model import Cluster, ClusterQueue
from gpuc.rehearse.expectation import cluster_queues, expect
from gpuc.rehearse.outcome import Request
from tests.conftest import example

SMALL = {"cpu": 1000, "memory": 2**30, "nvidia.com/gpu": 1}


def mixed() -> tuple[Cluster, ClusterQueue]:
    """A queue of train-usw2 whose second pool has no topology."""
    cluster = example("train-usw2")
    queue = next(queue for queue in cluster_queues(cluster) if len(queue.pool_quotas) > 1)
    first, second = queue.pool_quotas
    plain = replace(second.pool, spec=second.pool.spec.model_copy(update={"topology": None}))
    changed = replace(queue, pool_quotas=(first, replace(second, pool=plain)))
    owner = next(candidate for candidate in cluster.queues if queue in candidate.cluster_queues)
    queues = tuple(
        replace(candidate, cluster_queues=(changed,)) if candidate is owner else candidate
        for candidate in cluster.queues
    )
    return replace(cluster, queues=queues), changed


@pytest.mark.parametrize(
    ("pool", "one_block", "message"),
    [
        (0, False, 'Flavor "core-h200" supports only TopologyAwareScheduling'),
        (1, True, 'Flavor "core-b200" does not support TopologyAwareScheduling'),
        (0, True, ""),
        (1, False, ""),
    ],
)
def test_a_topology_request_needs_a_pool_with_a_topology(pool: int, one_block: bool, message: str) -> None:
    cluster, queue = mixed()
    actual = expect(cluster, queue, Request(SMALL, pool=queue.pools[pool].name, one_block=one_block))
    if message:
        assert (actual.verdict, actual.by) == ("refused", "Kueue") and message in actual.message
    else:
        assert (actual.verdict, actual.flavor) == ("admitted", queue.pools[pool].name)


def test_work_without_a_topology_request_is_admitted_if_all_pools_have_a_topology() -> None:
    cluster = example("train-usw2")
    queue = next(queue for queue in cluster_queues(cluster) if len(queue.pool_quotas) > 1)
    assert expect(cluster, queue, Request(SMALL)).verdict == "admitted"

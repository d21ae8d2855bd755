"""Queues that mix pools with and without topology: Kueue keeps work of the one kind off the other's pools."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpuc.model import Cluster, ClusterQueue
from gpuc.rehearse.expectation import cluster_queues, expect
from gpuc.rehearse.outcome import Request
from tests.conftest import example

SMALL = {"cpu": 1000, "memory": 2**30, "nvidia.com/gpu": 1}


def mixed() -> tuple[Cluster, ClusterQueue]:
    """A queue of train-usw2 whose second pool has lost its topology."""
    cluster = example("train-usw2")
    queue = next(each for each in cluster_queues(cluster) if len(each.shares) > 1)
    first, second = queue.shares
    plain = replace(second.pool, spec=second.pool.spec.model_copy(update={"topology": None}))
    changed = replace(queue, shares=(first, replace(second, pool=plain)))
    owner = next(each for each in cluster.queues if queue in each.cluster_queues)
    queues = tuple(replace(each, cluster_queues=(changed,)) if each is owner else each for each in cluster.queues)
    return replace(cluster, queues=queues), changed


@pytest.mark.parametrize(
    ("of", "one_block", "words"),
    [
        (0, False, 'Flavor "core-h200" supports only TopologyAwareScheduling'),
        (1, True, 'Flavor "core-b200" does not support TopologyAwareScheduling'),
        (0, True, ""),
        (1, False, ""),
    ],
)
def test_each_kind_of_work_has_its_pools(of: int, one_block: bool, words: str) -> None:
    cluster, queue = mixed()
    seen = expect(cluster, queue, Request(SMALL, pool=queue.pools[of].name, one_block=one_block))
    if words:
        assert (seen.verdict, seen.by) == ("refused", "Kueue") and words in seen.words
    else:
        assert (seen.verdict, seen.flavor) == ("admitted", queue.pools[of].name)


def test_work_that_says_nothing_is_placed_by_topology_where_all_pools_are() -> None:
    cluster = example("train-usw2")
    queue = next(each for each in cluster_queues(cluster) if len(each.shares) > 1)
    assert expect(cluster, queue, Request(SMALL)).verdict == "admitted"

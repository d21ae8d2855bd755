"""Queues that have pools with and without a topology: topology-aware work runs only on pools with a topology."""

from __future__ import annotations

from copy import deepcopy
from functools import cache

import pytest

from gpuc.model import ClusterQueue
from gpuc.pipeline.stages import CompiledSpec
from gpuc_rehearsal.expectation import cluster_queues, expect
from gpuc_rehearsal.outcome import Request
from tests.conformance.shared_plane import compiled
from tests.conftest import compiled_example
from tests.pipeline.memory import source

SMALL = {"cpu": 1000, "memory": 2**30, "nvidia.com/gpu": 1}


def queue_of_two_pools(spec: CompiledSpec) -> ClusterQueue:
    return next(queue for queue in cluster_queues(spec.cluster) if len(queue.pools) > 1)


@cache
def mixed() -> CompiledSpec:
    """train-usw2 with a queue whose second pool has no topology."""
    tree = deepcopy(source("train-usw2").tree)
    del tree["spec"]["pools"]["core-b200"]["topology"]
    return compiled(tree, "train-usw2")


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
    spec = mixed()
    queue = queue_of_two_pools(spec)
    actual = expect(spec, queue, Request(SMALL, pool=queue.pools[pool].name, one_block=one_block))
    if message:
        assert (actual.verdict, actual.by) == ("refused", "Kueue") and message in actual.message
    else:
        assert (actual.verdict, actual.flavor) == ("admitted", queue.pools[pool].name)


def test_work_without_a_topology_request_is_admitted_if_all_pools_have_a_topology() -> None:
    spec = compiled_example("train-usw2")
    assert expect(spec, queue_of_two_pools(spec), Request(SMALL)).verdict == "admitted"

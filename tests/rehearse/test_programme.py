"""Which scenes play together."""

from __future__ import annotations

from collections import Counter

import pytest

from gpuc.model import Cluster
from gpuc.rehearse.expectation import cluster_queues, expect
from gpuc.rehearse.programme import programme
from gpuc.rehearse.quota import Quota
from gpuc.rehearse.scenes import all_scenes

from ..conftest import EXAMPLES, example

WORK = ("smallest", "full_node", "efa", "shares", "gangs", "borrowing", "preemption", "reclaim", "topology")


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_scene_plays_once(name: str) -> None:
    scenes = list(all_scenes(example(name), WORK))
    played = Counter(id(scene) for act in programme(example(name), scenes) for scene in act)
    assert played == Counter(id(scene) for scene in scenes)


@pytest.mark.parametrize("name", EXAMPLES)
def test_what_an_act_takes_together_is_within_every_quota(name: str) -> None:
    cluster = example(name)
    queues = {queue.name: queue for queue in cluster_queues(cluster)}
    for act in programme(cluster, all_scenes(cluster, WORK)):
        quota = Quota(cluster)
        for scene in act:
            if scene.takes and (seen := expect(cluster, queues[scene.queue], scene.takes)).verdict != "refused":
                quota.hold(scene.queue, seen.flavor, scene.takes.total)
        assert all(
            quota.available(queue, pool.name, resource) >= 0
            for queue in queues.values()
            for pool in queue.pools
            for resource in queue.covered_resources
        )


def test_a_strict_queue_is_asked_for_one_thing_that_it_refuses_at_a_time() -> None:
    cluster = example("train-usw2")
    for act in programme(cluster, all_scenes(cluster, WORK)):
        strict = [scene for scene in act if scene.queue == "safety" and scene.takes]
        assert len(strict) == 1 or not any(scene.expected.verdict == "refused" for scene in strict)


def test_scenes_without_work_share_an_act_whatever_it_takes(prod: Cluster) -> None:
    scenes = [scene for scene in all_scenes(prod, ("preemption",)) if scene.act == "preemption 1"]
    assert programme(prod, scenes) == [scenes]

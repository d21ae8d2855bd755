"""What the model says that the control plane does; what the control plane does is judged by a rehearsal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pytest

from gpuc.model import Cluster, ClusterQueue
from gpuc.model.names import EFA, GPU
from gpuc.rehearse.expectation import cluster_queues, expect
from gpuc.rehearse.outcome import Outcome, Request, agrees
from gpuc.rehearse.quota import Quota
from gpuc.rehearse.scenes import Scene, all_scenes

from .conftest import Change

Variant = Callable[[Change], Cluster]
GROUPS = ("smallest", "full_node", "efa", "shares", "gangs", "borrowing", "preemption", "reclaim", "topology")


def queue_of(cluster: Cluster, name: str) -> ClusterQueue:
    return next(each for each in cluster_queues(cluster) if each.name == name)


def nodes_of(cluster: Cluster, pool: str, pods: int) -> Request:
    found = next(each for each in cluster.pools if each.name == pool)
    return Request(dict(found.node), pods, pool)


def gpus(count: int, pods: int = 1, pool: str = "") -> Request:
    return Request({"cpu": 1000, "memory": 2**30, "ephemeral-storage": 2**30, GPU: count}, pods, pool)


def scenes_of(cluster: Cluster) -> dict[tuple[str, str], Scene]:
    return {(scene.family, scene.name): scene for scene in all_scenes(cluster, GROUPS)}


def test_a_gang_within_the_nominal_quota_borrows_nothing(prod: Cluster) -> None:
    seen = expect(prod, queue_of(prod, "research"), nodes_of(prod, "train-h100", 10))
    assert (seen.verdict, seen.flavor, seen.borrowed) == ("admitted", "train-h100", ())
    assert (seen.instance_types, seen.nodes) == (("p5.48xlarge",), 10)


def test_a_gang_above_it_borrows_exactly_the_rest(prod: Cluster) -> None:
    seen = expect(prod, queue_of(prod, "research"), nodes_of(prod, "train-h100", 16))
    assert seen.verdict == "admitted"
    assert {(GPU, "48"), (EFA, "192")} <= set(seen.borrowed)


@pytest.mark.parametrize(("queue", "most"), [("research", 128), ("search", 80)])
def test_the_limit_is_what_may_be_borrowed_and_what_others_lend(prod: Cluster, queue: str, most: int) -> None:
    """Search may borrow four nodes, research lends four: ten nodes. Research may borrow the six that search lends."""
    seen = expect(prod, queue_of(prod, queue), gpus(1, most + 1, "train-h100"))
    assert (seen.verdict, seen.by) == ("refused", "Kueue")
    assert f"current podset request ({most + 1}) > maximum capacity ({most})" in seen.words


def test_the_next_pool_is_taken_before_anything_is_borrowed(prod: Cluster) -> None:
    queue = queue_of(prod, "research")
    quota = Quota(prod)
    quota.hold("research", "train-h100", {GPU: 80})
    assert expect(prod, queue, gpus(8), quota).flavor == "batch-a100"
    quota.hold("research", "batch-a100", {GPU: 32})
    assert expect(prod, queue, gpus(4), quota).flavor == "lab-h100"
    quota.hold("research", "lab-h100", {GPU: 4})
    assert expect(prod, queue, gpus(8), quota).borrowed == ((GPU, "8"),)


def test_what_others_hold_of_their_own_is_not_lent(prod: Cluster) -> None:
    quota = Quota(prod)
    quota.hold("search", "train-h100", {GPU: 40})
    seen = expect(prod, queue_of(prod, "research"), gpus(8, 12, "train-h100"), quota)
    assert seen.words == "insufficient unused quota for nvidia.com/gpu in flavor train-h100, 8 more needed"
    assert expect(prod, queue_of(prod, "research"), gpus(8, 11, "train-h100"), quota).verdict == "admitted"


def test_what_is_never_lent_does_not_count_against_borrowers(prod: Cluster) -> None:
    """Research keeps six of its ten nodes for itself: having those, it leaves four to search."""
    quota = Quota(prod)
    quota.hold("research", "train-h100", {GPU: 48})
    assert quota.available(queue_of(prod, "search"), "train-h100", GPU) == 80
    quota.hold("research", "train-h100", {GPU: 8})
    assert quota.available(queue_of(prod, "search"), "train-h100", GPU) == 72


def test_a_pod_larger_than_a_node_is_admitted_and_waits_for_ever(prod: Cluster) -> None:
    seen = expect(prod, queue_of(prod, "research"), gpus(4, 1, "lab-h100"))
    assert (seen.verdict, seen.by, seen.flavor) == ("pending", "Karpenter", "lab-h100")


def test_more_pods_than_the_pool_has_places_wait_too(variant: Variant) -> None:
    cluster = variant(lambda spec: spec["pools"]["train-h100"]["nodes"].update(max=9))
    assert expect(cluster, queue_of(cluster, "research"), nodes_of(cluster, "train-h100", 9)).nodes == 9
    assert expect(cluster, queue_of(cluster, "research"), nodes_of(cluster, "train-h100", 10)).verdict == "pending"


def test_what_a_queue_does_not_cover_it_refuses(prod: Cluster) -> None:
    seen = expect(prod, queue_of(prod, "platform-ml"), gpus(1))
    assert seen.words == "resource nvidia.com/gpu unavailable in ClusterQueue"


def test_zero_quota_is_passed_over_on_the_way_to_the_pool_that_has_the_slice(prod: Cluster) -> None:
    request = Request({"cpu": 1000, "memory": 2**30, "nvidia.com/mig-1g.10gb": 1})
    assert expect(prod, queue_of(prod, "research"), request).flavor == "lab-h100"


def test_a_container_that_asks_for_no_memory_is_counted_with_the_namespace_default(prod: Cluster) -> None:
    assert Request({GPU: 1}, 3).total == {"cpu": 300, "memory": 3 * 2**28, "ephemeral-storage": 3 * 2**30, GPU: 3}


def test_cohorts_of_one_tree_lend_to_one_another_and_the_nearest_is_asked_first(variant: Variant) -> None:
    """Research needs one node more: batch-a100 comes from a sibling, train-h100 only from the other cohort."""

    def change(spec: dict[str, object]) -> None:
        spec["cohorts"] = {"company": {}, "left": {"parent": "company"}, "right": {"parent": "company"}}
        queues = spec["queues"]
        assert isinstance(queues, dict)
        queues["research"]["cohort"], queues["search"]["cohort"] = "left", "right"
        queues["near"] = {"tenants": ["search"], "cohort": "left", "quota": {"batch-a100": {"nodes": 1}}}

    cluster = variant(change)
    queue = queue_of(cluster, "research")
    quota = Quota(cluster)
    assert quota.capacity(queue, "train-h100", GPU) == 128
    for pool, held in (("train-h100", 80), ("batch-a100", 32), ("lab-h100", 4)):
        quota.hold("research", pool, {GPU: held})
    assert expect(cluster, queue, gpus(8), quota).flavor == "batch-a100"


@pytest.mark.parametrize(
    ("pool", "unit", "count"), [("train-h100", "nodes", 9), ("dev-l4", "shares", 95), ("general", "nodes", 4)]
)
def test_scenes_fail_when_a_quota_is_off_by_one(
    prod: Cluster, variant: Variant, pool: str, unit: str, count: int
) -> None:
    """A control plane that has the other cluster's quota does not do what this cluster's scenes expect."""
    other = variant(lambda spec: spec["queues"]["research"]["quota"][pool].update({unit: count}))
    name = "research-cpu" if pool == "general" else "research"
    units = [each for each in scenes_of(prod).values() if (each.family, each.queue, each.pool) == ("gangs", name, pool)]
    assert {each.expected.verdict for each in units} == {"admitted", "refused"}
    for scene in units:
        assert isinstance(scene.play, partial)
        seen = expect(other, queue_of(other, name), scene.play.keywords["work"].request)
        assert not agrees(scene.expected, seen), scene.name


@pytest.mark.parametrize("name", ["prod", "train", "infer"])
def test_scenes_are_distinct_and_a_third_are_refusals(name: str) -> None:
    from ..conftest import EXAMPLES, example

    cluster = example(next(each for each in EXAMPLES if each.startswith(name)))
    scenes = list(all_scenes(cluster, GROUPS))
    assert len({(scene.family, scene.queue, scene.pool, scene.request) for scene in scenes}) == len(scenes)
    assert sum(scene.is_refusal for scene in scenes) * 3 >= len(scenes)


def test_each_scene_of_work_asks_for_what_its_expectation_is_about(prod: Cluster) -> None:
    """A refusal names the pool's own flavor, an admission gets it."""
    for scene in scenes_of(prod).values():
        if scene.expected.verdict in ("admitted", "bound", "complete", "preempted"):
            assert scene.expected.flavor == scene.pool, scene.name


def test_an_expectation_asks_only_for_what_it_names() -> None:
    seen = Outcome("bound", flavor="a", pool="a", instance_types=("x",), nodes=2, words="long words of a controller")
    assert agrees(Outcome("bound", instance_types=("x", "y"), words="words of"), seen)
    assert not agrees(Outcome("bound", nodes=1), seen)
    assert not agrees(Outcome("complete"), seen)
    assert not agrees(replace(seen, flavor="b"), seen)

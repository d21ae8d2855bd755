"""Quota that is of no use for lack of other quota, and bounds of namespaces that bound nothing, or all."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import EXAMPLES
from tests.lint.checks.quotas.test_quotas import (
    EFA,
    GPU,
    copies,
    flavor,
    ids,
    limited,
    named,
    pool,
    queue,
    quota,
    told,
)

Row = dict[str, Any]


def only(objects: list[Row], identity: str, *, whole: bool = True) -> list[str]:
    return [text for each, text in told(objects, whole=whole) if each == identity]


@pytest.mark.parametrize("resource", ["cpu", "memory", EFA])
def test_gpus_are_not_borrowed_without_what_goes_with_them(resource: str) -> None:
    objects = copies("prod-use1")
    row = quota(objects, "research", "train-h100", resource)
    row["borrowingLimit"] = "0"
    (text,) = only(objects, "QTA015")
    assert "ClusterQueue research" in text
    assert f"of flavor train-h100 up to 48 {GPU} can be borrowed and no {resource}" in text
    assert only(objects, "QTA015", whole=False) == [text], "a limit of nothing is certain, whoever lends"
    row["borrowingLimit"] = "1k"
    assert only(objects, "QTA015") == []


def machines(own: Any, lent: Any) -> list[Row]:
    """A queue of 8 GPUs that may borrow 8 of another, and what both have of cpu; a node has 192 cpu for 8 GPUs."""
    first = queue("a", {"a": {"cpu": own, GPU: limited(8, 8)}}, "c")
    return [
        flavor("a", team_pool="p"),
        pool("p", ["p5.48xlarge"]),
        first,
        queue("b", {"a": {"cpu": lent, GPU: 8}}, "c"),
    ]


def test_enough_cpu_of_its_own_is_enough_for_borrowed_gpus() -> None:
    assert only(machines(limited(192, 0), 192), "QTA015") != []
    assert only(machines(limited(384, 0), 192), "QTA015") == []
    assert only(machines(192, 192), "QTA015") == []
    assert only(machines(192, limited(192, lend=0)), "QTA015") != []
    assert only(machines(192, limited(192, lend=0)), "QTA015", whole=False) == [], "others may lend some"
    assert only([flavor("a"), *machines(limited(192, 0), 192)[2:]], "QTA015") == [], "what a node has nobody knows"


def test_a_flavor_without_cpu_is_told() -> None:
    rows = {"a": {"cpu": 0, "memory": 8, GPU: 8}, "b": {"cpu": 8, "memory": 8, GPU: 0}}
    (text,) = only([queue("q", rows)], "QTA016")
    assert f"nothing of cpu can be had of flavor a, beside memory, {GPU}" in text
    assert only([queue("q", rows)], "QTA016", whole=False) != []
    lender = queue("l", {"a": {"cpu": 8, "memory": 0, GPU: 0}, "b": {"cpu": 8, "memory": 8, GPU: 0}}, "c")
    assert [text for text in only([queue("q", rows, "c"), lender], "QTA016") if "ClusterQueue q" in text] == []
    assert only([queue("q", rows, "c")], "QTA016", whole=False) == [], "others may lend some"
    assert only([queue("q", {"a": {"cpu": 8, "memory": 8, GPU: 0}})], "QTA016") == [], "a flavor without GPUs is fine"


@pytest.mark.parametrize("name", EXAMPLES)
def test_what_namespaces_may_request_is_what_their_queues_can_give(name: str) -> None:
    """A bound of a namespace in the examples is the very most: one more of anything is told."""
    objects = copies(name)
    bounds = [each for each in objects if each["kind"] == "ResourceQuota"]
    assert len(bounds) >= 3
    for each in bounds:
        hard = each["spec"]["hard"]
        for resource in [name for name in hard if name.startswith("requests.") and name != "requests.storage"]:
            kept, hard[resource] = hard[resource], "123456789Pi"
            (text,) = only(objects, "QTA014")
            assert f'spec.hard["{resource}"]' in text or f"spec.hard.{resource}" in text
            assert only(objects, "QTA014", whole=False) == []
            hard[resource] = kept


def test_a_namespace_that_allows_none_of_a_resource_is_told() -> None:
    objects = copies("prod-use1")
    hard = next(
        each["spec"]["hard"]
        for each in objects
        if each["kind"] == "ResourceQuota" and each["metadata"]["namespace"] == "search-train"
    )
    hard["requests.nvidia.com/mig-3g.40gb"] = "0"
    for whole in (True, False):
        (text,) = only(objects, "QTA017", whole=whole)
        assert "ResourceQuota search-train/gpuc" in text
        assert "queue search, to which search-train leads, gives up to" in text


def namespaced(kind: str, spec: Any, name: str = "a", api: str = "v1", **labels: str) -> Row:
    metadata = {"name": name, "namespace": "web", "labels": labels}
    return {"apiVersion": api, "kind": kind, "metadata": metadata, "spec": spec}


def test_objects_of_the_tree_keep_within_their_number() -> None:
    services = [namespaced("Service", {}, name) for name in "abc"]
    for key in ("services", "count/services"):
        assert ids([*services, namespaced("ResourceQuota", {"hard": {key: "3"}})], whole=False) == set()
        assert ids([*services, namespaced("ResourceQuota", {"hard": {key: "2"}})], whole=False) == {"QTA018"}
    jobs = [namespaced("Job", {}, name, "batch/v1", **{"kueue.x-k8s.io/queue-name": "q"}) for name in "abc"]
    assert ids([*jobs, namespaced("ResourceQuota", {"hard": {"count/jobs.batch": "1"}})]) == set(), "they may wait"
    assert ids([*jobs, namespaced("ResourceQuota", {"hard": {"count/jobs.batch": "0"}})]) == {"QTA018"}
    assert ids([*jobs, namespaced("ResourceQuota", {"hard": {"count/widgets.example.com": "0"}})]) == set()


@pytest.mark.parametrize(
    ("limit", "place"),
    [
        ({"type": "Container", "min": {"cpu": "1"}, "max": {"cpu": "2"}}, ""),
        ({"type": "Container", "default": {"cpu": "1"}, "defaultRequest": {"cpu": "1000m"}}, ""),
        ({"type": "example.com/Volume"}, ""),
        ({"type": "container"}, "type"),
        ({"type": "Container", "min": {"cpu": "3"}, "max": {"cpu": "2"}}, "min.cpu"),
        (
            {"type": "Container", "default": {"memory": "1Gi"}, "defaultRequest": {"memory": "2Gi"}},
            "defaultRequest.memory",
        ),
        ({"type": "Container", "default": {"memory": "1Ti"}, "max": {"memory": "2Gi"}}, "default.memory"),
    ],
)
def test_limit_ranges_that_the_api_server_refuses(limit: Row, place: str) -> None:
    found = told([namespaced("LimitRange", {"limits": [limit]})], whole=False)
    assert [identity for identity, _ in found] == (["QTA019"] if place else [])
    assert all(f"spec.limits[0].{place}:" in text for _, text in found)


def test_a_request_of_nothing_goes_past_a_quota() -> None:
    limit = {"type": "Container", "defaultRequest": {"cpu": "0"}}
    objects = [
        namespaced("LimitRange", {"limits": [limit]}),
        namespaced("ResourceQuota", {"hard": {"requests.cpu": "8"}}),
    ]
    assert ids(objects, whole=False) == {"QTA020"}
    assert ids(objects[:1]) == set()
    limit["defaultRequest"] = {"cpu": "1m"}
    assert ids(objects) == set()


def test_the_examples_have_each_kind_of_bound() -> None:
    for name in EXAMPLES:
        objects = copies(name)
        assert named(objects, "LimitRange", "gpuc")["spec"]["limits"]
        assert any(
            "count/jobs.batch" in each["spec"].get("hard", {}) for each in objects if each["kind"] == "ResourceQuota"
        )


def test_a_queue_needs_jobs() -> None:
    none = namespaced("ResourceQuota", {"hard": {"count/jobs.batch": "0"}})
    local = namespaced("LocalQueue", {"clusterQueue": "q"}, api="kueue.x-k8s.io/v1beta2")
    assert ids([none, local]) == {"QTA021"}
    assert ids([none, local], whole=False) == set(), "people may want other kinds of work alone"
    assert ids([none]) == set()

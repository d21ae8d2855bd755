"""Quota that is useless without other quota, ResourceQuotas, and LimitRanges."""

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
    reported,
)

Row = dict[str, Any]


def only(objects: list[Row], identity: str, *, is_complete: bool = True) -> list[str]:
    return [text for row, text in reported(objects, is_complete=is_complete) if row == identity]


@pytest.mark.parametrize("resource", ["cpu", "memory", EFA])
def test_gpus_that_are_borrowed_without_another_resource_are_reported(resource: str) -> None:
    objects = copies("prod-use1")
    row = quota(objects, "research", "train-h100", resource)
    row["borrowingLimit"] = "0"
    (text,) = only(objects, "QTA015")
    assert "ClusterQueue research" in text
    assert f"can borrow up to 48 {GPU} of ResourceFlavor train-h100, but no {resource}" in text
    assert only(objects, "QTA015", is_complete=False) == [text], "a limit of 0 is certain, whatever other queues lend"
    row["borrowingLimit"] = "1k"
    assert only(objects, "QTA015") == []


def machines(own: Any, lent: Any) -> list[Row]:
    """A queue that may borrow 8 GPUs from another, and the cpu of both queues; a node has 192 cpu and 8 GPUs."""
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
    assert only(machines(192, limited(192, lend=0)), "QTA015", is_complete=False) == [], "other files may have a lender"
    assert only([flavor("a"), *machines(limited(192, 0), 192)[2:]], "QTA015") == [], "the nodes are unknown"


def test_a_flavor_without_cpu_is_reported() -> None:
    rows = {"a": {"cpu": 0, "memory": 8, GPU: 8}, "b": {"cpu": 8, "memory": 8, GPU: 0}}
    (text,) = only([queue("q", rows)], "QTA016")
    assert f"can use memory, {GPU} of ResourceFlavor a, but no cpu" in text
    assert only([queue("q", rows)], "QTA016", is_complete=False) != []
    lender = queue("l", {"a": {"cpu": 8, "memory": 0, GPU: 0}, "b": {"cpu": 8, "memory": 8, GPU: 0}}, "c")
    assert [text for text in only([queue("q", rows, "c"), lender], "QTA016") if "ClusterQueue q" in text] == []
    assert only([queue("q", rows, "c")], "QTA016", is_complete=False) == [], "other files may have a lender"
    assert only([queue("q", {"a": {"cpu": 8, "memory": 8, GPU: 0}})], "QTA016") == [], "a flavor without GPUs is fine"


@pytest.mark.share(3)
@pytest.mark.parametrize("name", EXAMPLES)
def test_resource_quotas_of_the_examples_are_what_queues_and_pools_can_provide(name: str) -> None:
    """A higher value of any resource is reported, except for disks of nodes outside of Kueue, which are unknown."""
    objects = copies(name)
    bounds = [document for document in objects if document["kind"] == "ResourceQuota"]
    assert len(bounds) >= 3
    outside = {"search-serving", "embeddings", "retrieval", "assistants-serving"}
    for document in bounds:
        hard = document["spec"]["hard"]
        for resource in [name for name in hard if name.startswith("requests.") and name != "requests.storage"]:
            if resource == "requests.ephemeral-storage" and document["metadata"]["namespace"] in outside:
                continue
            kept, hard[resource] = hard[resource], "123456789Pi"
            found = reported(objects)
            assert {identity for identity, _ in found} <= {"QTA014", "QTA022", "KRP004"}
            assert any(f'spec.hard["{resource}"]' in text or f"spec.hard.{resource}" in text for _, text in found)
            assert reported(objects, is_complete=False) == []
            hard[resource] = kept


def test_a_namespace_that_allows_none_of_a_resource_is_reported() -> None:
    objects = copies("prod-use1")
    hard = next(
        document["spec"]["hard"]
        for document in objects
        if document["kind"] == "ResourceQuota" and document["metadata"]["namespace"] == "research-lab"
    )
    hard["requests.nvidia.com/mig-3g.40gb"] = "0"
    for is_complete in (True, False):
        (text,) = only(objects, "QTA017", is_complete=is_complete)
        assert "ResourceQuota research-lab/gpuc" in text
        assert "ClusterQueue research of namespace research-lab provides up to" in text


def namespaced(kind: str, spec: Any, name: str = "a", api: str = "v1", **labels: str) -> Row:
    metadata = {"name": name, "namespace": "web", "labels": labels}
    return {"apiVersion": api, "kind": kind, "metadata": metadata, "spec": spec}


def test_object_counts_of_the_input_are_within_the_quota() -> None:
    services = [namespaced("Service", {}, name) for name in "abc"]
    for key in ("services", "count/services"):
        assert ids([*services, namespaced("ResourceQuota", {"hard": {key: "3"}})], is_complete=False) == set()
        assert ids([*services, namespaced("ResourceQuota", {"hard": {key: "2"}})], is_complete=False) == {"QTA018"}
    jobs = [namespaced("Job", {}, name, "batch/v1", **{"kueue.x-k8s.io/queue-name": "q"}) for name in "abc"]
    assert ids([*jobs, namespaced("ResourceQuota", {"hard": {"count/jobs.batch": "1"}})]) == set(), "jobs may wait"
    assert ids([*jobs, namespaced("ResourceQuota", {"hard": {"count/jobs.batch": "0"}})]) == {"QTA018"}
    assert ids([*jobs, namespaced("ResourceQuota", {"hard": {"count/widgets.example.com": "0"}})]) == set()
    endpoints = [namespaced("Endpoints", {}), namespaced("ResourceQuota", {"hard": {"count/endpoints": "0"}})]
    assert ids(endpoints, is_complete=False) == {"QTA018"}


@pytest.mark.parametrize(
    ("limit", "place"),
    [
        ({"type": "Container", "min": {"cpu": "1"}, "max": {"cpu": "2"}}, ""),
        ({"type": "Container", "default": {"cpu": "1"}, "defaultRequest": {"cpu": "1000m"}}, ""),
        ({"type": "example.com/Volume"}, ""),
        ({"type": "Container", "min": {"cpu": "3"}, "max": {"cpu": "2"}}, "min.cpu"),
        (
            {"type": "Container", "default": {"memory": "1Gi"}, "defaultRequest": {"memory": "2Gi"}},
            "defaultRequest.memory",
        ),
        ({"type": "Container", "default": {"memory": "1Ti"}, "max": {"memory": "2Gi"}}, "default.memory"),
    ],
)
def test_limit_ranges_that_the_api_server_refuses(limit: Row, place: str) -> None:
    found = reported([namespaced("LimitRange", {"limits": [limit]})], is_complete=False)
    assert [identity for identity, _ in found] == (["QTA019"] if place else [])
    assert all(f"spec.limits[0].{place}:" in text for _, text in found)


def test_a_default_request_of_zero_bypasses_a_quota() -> None:
    limit = {"type": "Container", "defaultRequest": {"cpu": "0"}}
    objects = [
        namespaced("LimitRange", {"limits": [limit]}),
        namespaced("ResourceQuota", {"hard": {"requests.cpu": "8"}}),
    ]
    assert ids(objects, is_complete=False) == {"QTA020"}
    assert ids(objects[:1]) == set()
    limit["defaultRequest"] = {"cpu": "1m"}
    assert ids(objects) == set()


def test_the_examples_have_each_kind_of_bound() -> None:
    for name in EXAMPLES:
        objects = copies(name)
        assert named(objects, "LimitRange", "gpuc")["spec"]["limits"]
        assert any(
            "count/jobs.batch" in document["spec"].get("hard", {})
            for document in objects
            if document["kind"] == "ResourceQuota"
        )


def test_a_queue_needs_jobs() -> None:
    none = namespaced("ResourceQuota", {"hard": {"count/jobs.batch": "0"}})
    local = namespaced("LocalQueue", {"clusterQueue": "q"}, api="kueue.x-k8s.io/v1beta2")
    assert ids([none, local]) == {"QTA021"}
    assert ids([none, local], is_complete=False) == set(), "the namespace may be meant for other kinds of work"
    assert ids([none]) == set()

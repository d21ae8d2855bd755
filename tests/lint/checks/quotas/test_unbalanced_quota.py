"""Quota that is useless without other quota, ResourceQuotas, and LimitRanges."""

from typing import Any

import pytest

from tests.conftest import EXAMPLES
from tests.lint.checks.quotas.test_quotas import (
    EFA,
    GPU,
    copies,
    named,
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


def test_the_examples_have_each_kind_of_bound() -> None:
    for name in EXAMPLES:
        objects = copies(name)
        assert named(objects, "LimitRange", "gpuc")["spec"]["limits"]
        assert any(
            "count/jobs.batch" in document["spec"].get("hard", {})
            for document in objects
            if document["kind"] == "ResourceQuota"
        )

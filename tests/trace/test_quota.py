"""Kueue's arithmetic over cohorts of cohorts: figures by hand, as its own documentation and sources count."""

from __future__ import annotations

import pytest

from gpuc.manifest.manifest import Manifest
from gpuc.trace.amounts import amount, text
from gpuc.trace.quota import quota_tree

API = "kueue.x-k8s.io/v1beta2"
KEY = ("f", "nvidia.com/gpu")


def groups(nominal: int, borrow: int | None = None, lend: int | None = None) -> list[object]:
    quota: dict[str, object] = {"name": KEY[1], "nominalQuota": str(nominal)}
    if borrow is not None:
        quota["borrowingLimit"] = str(borrow)
    if lend is not None:
        quota["lendingLimit"] = lend
    return [{"coveredResources": [KEY[1]], "flavors": [{"name": "f", "resources": [quota]}]}]


def queue(name: str, cohort: str, *figures: int | None) -> Manifest:
    spec = {"cohortName": cohort, "resourceGroups": groups(*figures)}  # type: ignore[arg-type]
    return Manifest("q.yaml", (), API, "ClusterQueue", name, {"spec": spec})


def cohort(name: str, parent: str = "", *figures: int | None) -> Manifest:
    spec: dict[str, object] = {"parentName": parent} if parent else {}
    if figures:
        spec["resourceGroups"] = groups(*figures)  # type: ignore[arg-type]
    return Manifest("c.yaml", (), API, "Cohort", name, {"spec": spec})


def test_cohorts_of_cohorts_lend_what_their_limits_leave() -> None:
    """The root owns 4; the left cohort owns 2 and lends 5 of what it has, the right one lends all."""
    found = quota_tree(
        [queue("a", "left", 8, None, 6), queue("b", "left", 4), queue("c", "right", 10, 3), queue("d", "right", 1)],
        [cohort("root", "", 4), cohort("left", "root", 2, None, 5), cohort("right", "root")],
    )
    # left: 2 + (8 - 2) + 4 = 12, of which 7 stay; root: 4 + 5 + 11 = 20.
    assert {name: node.capacity(KEY) for name, node in found.items()} == {"a": 2 + 7 + 20, "b": 27, "c": 13, "d": 20}


def test_what_is_borrowed_comes_from_as_near_as_it_can() -> None:
    found = quota_tree(
        [queue("a", "left", 8), queue("b", "left", 4), queue("c", "right", 10)],
        [cohort("root"), cohort("left", "root"), cohort("right", "root")],
    )
    distances = [found["a"].distance(KEY, wanted) for wanted in (8, 9, 12, 13, 22, 23)]
    assert distances == [0, 1, 1, 2, 2, 2]


def test_a_cohort_that_is_only_named_joins_its_queues() -> None:
    found = quota_tree([queue("a", "x", 3, None, 1), queue("b", "x", 5, 0)], [])
    assert [found[name].capacity(KEY) for name in "ab"] == [2 + 1 + 5, 5]


def test_a_queue_without_a_cohort_has_its_own() -> None:
    found = quota_tree([queue("a", "", 3)], [])
    assert found["a"].capacity(KEY) == 3
    assert found["a"].capacity(("f", "cpu")) == 0


@pytest.mark.parametrize(
    ("resource", "written", "whole", "shown"),
    [
        ("cpu", "1500m", 1500, "1500m"),
        ("cpu", "0.1m", 1, "1m"),
        ("cpu", 2, 2000, "2"),
        ("cpu", "1e3", 10**6, "1k"),
        ("memory", "1.5Gi", 3 * 2**29, "1536Mi"),
        ("memory", "1G", 10**9, "1000000000"),
        ("memory", "100m", 1, "1"),
        ("nvidia.com/gpu", "2k", 2000, "2k"),
        ("nvidia.com/gpu", 8, 8, "8"),
        ("hugepages-2Mi", "5128Mi", 5128 * 2**20, "5128Mi"),
    ],
)
def test_amounts_are_whole_units(resource: str, written: object, whole: int, shown: str) -> None:
    assert amount(resource, written) == whole
    assert text(resource, whole) == shown


@pytest.mark.parametrize("strange", [None, True, [], {}, "lots", "", "1 Gi", float("nan")])
def test_what_is_no_quantity_is_none(strange: object) -> None:
    assert amount("memory", strange) is None

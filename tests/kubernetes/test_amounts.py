"""Amounts in the units in which Kueue and the scheduler count, and durations."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuc.kubernetes.amounts import (
    amount,
    amounts,
    described,
    pods_that_fit,
    quantity_text,
    rounded,
    scale,
    smallest,
    total,
)
from gpuc.kubernetes.duration import format_duration, parse_duration


@pytest.mark.parametrize(
    ("resource", "written", "whole", "shown"),
    [
        ("cpu", "1500m", 1500, "1500m"),
        ("cpu", "191450m", 191450, "191450m"),
        ("cpu", "0.1m", 1, "1m"),
        ("cpu", 2, 2000, "2"),
        ("cpu", "1e3", 10**6, "1k"),
        ("memory", "1.5Gi", 3 * 2**29, "1536Mi"),
        ("memory", "5120Gi", 5 * 2**40, "5Ti"),
        ("memory", "1G", 10**9, "1000000000"),
        ("memory", "100m", 1, "1"),
        ("nvidia.com/gpu", "2k", 2000, "2k"),
        ("nvidia.com/gpu", 8, 8, "8"),
        ("nvidia.com/gpu", "0", 0, "0"),
        ("hugepages-2Mi", "5128Mi", 5128 * 2**20, "5128Mi"),
    ],
)
def test_amounts_are_whole_units(resource: str, written: object, whole: int, shown: str) -> None:
    assert amount(resource, written) == whole
    assert quantity_text(resource, whole) == shown


@pytest.mark.parametrize("strange", [None, True, [], {}, "lots", "", "1 Gi", float("nan")])
def test_what_is_no_quantity_is_none(strange: object) -> None:
    assert amount("memory", strange) is None
    assert amounts({"memory": strange, "cpu": 1}) == {"cpu": 1000}


@given(st.sampled_from(["cpu", "memory", "hugepages-1Gi", "pods"]), st.integers(0, 2**60))
def test_printed_amounts_keep_their_value(resource: str, count: int) -> None:
    assert amount(resource, quantity_text(resource, count)) == count


@pytest.mark.parametrize(
    ("resource", "count", "words"),
    [
        ("nvidia.com/gpu", 64, "64 nvidia.com/gpu"),
        ("cpu", 7500, "7.5 cpu"),
        ("requests.cpu", 7500, "7.5 requests.cpu"),
        ("memory", 3 * 2**39, "1.5Ti of memory"),
        ("requests.memory", 2**20, "1Mi of requests.memory"),
    ],
)
def test_amounts_for_people(resource: str, count: int, words: str) -> None:
    assert rounded(resource, count) == words


def test_amounts_are_described_without_those_of_nothing() -> None:
    assert described({"nvidia.com/gpu": 8, "cpu": 0, "memory": 2**32}) == "8 nvidia.com/gpu, 4Gi memory"
    assert described({"cpu": 0}) == "nothing"


def test_amounts_add_scale_and_compare_by_resource() -> None:
    one = {"cpu": 1001, "memory": 3 * 2**20}
    assert total([one, {"cpu": 1, "nvidia.com/gpu": 2}]) == {"cpu": 1002, "memory": 3 * 2**20, "nvidia.com/gpu": 2}
    assert scale(one, 1, 2) == {"cpu": 500, "memory": 2**20}, "memory is rounded down to whole MiB"
    assert smallest([one, {"cpu": 7, "memory": 2**30}]) == {"cpu": 7, "memory": 3 * 2**20}


def test_places_are_bound_by_what_is_scarcest() -> None:
    assert pods_that_fit({"cpu": 10, "memory": 7}, {"cpu": 3, "memory": 3, "pods": 0}) == 2
    assert pods_that_fit({"cpu": 10}, {"cpu": 3, "nvidia.com/gpu": 1}) == 0


@given(st.integers(0, 10**7))
def test_durations_survive_the_round_trip(seconds: int) -> None:
    assert parse_duration(format_duration(seconds)) == seconds


@pytest.mark.parametrize("text", ["", "1", "h", "1d", "-1h", "1.5h", "1h 30m", "1H"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a duration"):
        parse_duration(text)

"""Quantities and durations: what Kubernetes takes, and what it would print."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuc.kubernetes.duration import format_duration, parse_duration
from gpuc.kubernetes.quantity import format_bytes, format_count, format_milli, parse_quantity
from gpuc.model.vector import quantity_text, scale, smallest, total


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0), ("500m", Fraction(1, 2)), ("1k", 1000), ("1Ki", 1024), ("1.5Gi", 3 * 2**29), ("2Ti", 2**41),
        ("1e3", 1000), ("1E2", 100), ("1E", 10**18), (".5", Fraction(1, 2)), ("5.", 5), ("-1", -1),
    ],
)  # fmt: skip
def test_quantities_are_read_as_kubernetes_reads_them(text: str, value: Fraction) -> None:
    assert parse_quantity(text) == value


@pytest.mark.parametrize("text", ["", "1 Gi", "1gi", "Gi", "1KB", "0x10", "1_000", "NaN", "1Kii", "\u0661"])
def test_what_kubernetes_would_refuse_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no quantity"):
        parse_quantity(text)


@given(st.integers(0, 2**62))
def test_printed_amounts_keep_their_value(amount: int) -> None:
    assert parse_quantity(format_bytes(amount)) == amount
    assert parse_quantity(format_count(amount)) == amount
    assert parse_quantity(format_milli(amount)) == Fraction(amount, 1000)


@pytest.mark.parametrize(
    ("resource", "amount", "text"),
    [
        ("cpu", 191450, "191450m"), ("cpu", 192000, "192"), ("cpu", 2_000_000, "2k"), ("memory", 5 * 2**40, "5Ti"),
        ("memory", 1938410 * 2**20, "1938410Mi"), ("nvidia.com/gpu", 56, "56"), ("nvidia.com/gpu", 0, "0"),
        ("hugepages-2Mi", 10256 * 2**20, "10256Mi"),
    ],
)  # fmt: skip
def test_amounts_are_printed_as_go_prints_them(resource: str, amount: int, text: str) -> None:
    assert quantity_text(resource, amount) == text


@given(st.integers(0, 10**7))
def test_durations_survive_the_round_trip(seconds: int) -> None:
    assert parse_duration(format_duration(seconds)) == seconds


@pytest.mark.parametrize("text", ["", "1", "h", "1d", "-1h", "1.5h", "1h 30m", "1H"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no duration"):
        parse_duration(text)


def test_vectors_add_scale_and_compare_by_resource() -> None:
    one = {"cpu": 1001, "memory": 3 * 2**20}
    assert total([one, {"cpu": 1, "nvidia.com/gpu": 2}]) == {"cpu": 1002, "memory": 3 * 2**20, "nvidia.com/gpu": 2}
    assert scale(one, 1, 2) == {"cpu": 500, "memory": 2**20}, "memory is rounded down to whole MiB"
    assert smallest([one, {"cpu": 7, "memory": 2**30}]) == {"cpu": 7, "memory": 3 * 2**20}

"""Quantities are parsed, rounded and printed as in k8s.io/apimachinery."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuc.kubernetes.quantity import (
    canonical_quantity,
    format_quantity,
    is_canonical_quantity,
    parse_quantity,
    quantity,
)
from tests.tables import table

CASES = table(__file__, "test_quantity.yaml")

SUFFIXES = {
    "n": Fraction(1, 10**9), "u": Fraction(1, 10**6), "m": Fraction(1, 1000), "": Fraction(1), "k": Fraction(10**3),
    "M": Fraction(10**6), "G": Fraction(10**9), "T": Fraction(10**12), "P": Fraction(10**15), "E": Fraction(10**18),
    "Ki": Fraction(2**10), "Mi": Fraction(2**20), "Gi": Fraction(2**30), "Ti": Fraction(2**40),
    "Pi": Fraction(2**50), "Ei": Fraction(2**60),
}  # fmt: skip


def value_of(text: str) -> Fraction:
    """Returns the value of a quantity in canonical form, computed independently of gpuc."""
    if "e" in text:
        number, power = text.split("e")
        return Fraction(number) * Fraction(10) ** int(power)
    number = text.rstrip("".join(SUFFIXES))
    return Fraction(number) * SUFFIXES[text[len(number) :]]


@pytest.mark.parametrize(("text", "canonical"), CASES["canonical_text"])
def test_canonical_text(text: str, canonical: str) -> None:
    assert canonical_quantity(text) == canonical


@pytest.mark.parametrize(
    "text",
    ["", "a", "1 Gi", "1gi", "Gi", "1GB", "1K", "1Kii", "0x10", "1_000", "NaN", "\u0661", "--1", "1e", "1Gi ", "1.2.3",
     ".", "1" * 65],
)  # fmt: skip
def test_other_text_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a quantity"):
        canonical_quantity(text)
    assert not is_canonical_quantity(text)
    assert quantity(text) is None


@pytest.mark.parametrize("value", [None, True, [], {}, float("nan"), float("inf")])
def test_other_values_are_none(value: object) -> None:
    assert quantity(value) is None


@given(st.integers(0, 2**62))
def test_printed_values_are_read_as_the_same(value: int) -> None:
    for form in ("decimal", "binary", "exponent"):
        assert parse_quantity(format_quantity(value, form)) == value  # type: ignore[arg-type]
    assert parse_quantity(format_quantity(Fraction(value, 10**9))) == Fraction(value, 10**9)


quantities = st.builds(
    lambda sign, whole, part, suffix: f"{sign}{whole}{part}{suffix}",
    st.sampled_from(["", "-", "+"]),
    st.integers(0, 10**6),
    st.one_of(st.just(""), st.integers(0, 999).map(lambda digits: f".{digits}")),
    st.one_of(st.sampled_from(sorted(SUFFIXES)), st.integers(-6, 6).map(lambda power: f"e{power}")),
)


@given(quantities)
def test_canonical_text_is_canonical(text: str) -> None:
    assert is_canonical_quantity(canonical_quantity(text))


@given(quantities)
def test_canonical_text_has_the_value_of_the_text(text: str) -> None:
    number = text.rstrip("".join(SUFFIXES)) if "e" not in text else text.partition("e")[0]
    exact = value_of(text) if "e" in text else Fraction(number) * SUFFIXES[text[len(number) :]]
    bounded = max(-Fraction(2**63 - 1), min(exact, Fraction(2**63 - 1)))
    made = value_of(canonical_quantity(text))
    assert parse_quantity(text) == made
    assert abs(made) >= abs(bounded)
    assert abs(made - bounded) < Fraction(1, 10**9)


@given(quantities)
def test_canonical_number_is_as_short_as_its_suffix_allows(text: str) -> None:
    canonical = canonical_quantity(text)
    number = canonical.partition("e")[0].rstrip("".join(SUFFIXES))
    assert "." not in number
    if canonical not in {"0"} and not canonical.endswith(("i", "E")):
        assert int(number) % 1000 != 0

"""Quantities as k8s.io/apimachinery reads and prints them."""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache
from math import ceil

_BINARY = ("Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_DECIMAL = {-9: "n", -6: "u", -3: "m", 0: "", 3: "k", 6: "M", 9: "G", 12: "T", 15: "P", 18: "E"}
_POWERS = {suffix: power for power, suffix in _DECIMAL.items()}
_GRAMMAR = re.compile(
    r"(?P<sign>[+-]?)(?P<number>[0-9]+(?:\.[0-9]*)?|\.[0-9]+)"
    r"(?:(?P<binary>[KMGTPE]i)|[eE](?P<exponent>[+-]?[0-9]+)|(?P<decimal>[numkMGTPE]?))"
)
_LARGEST = Fraction(2**63 - 1)
_NANO = 10**9
_MOST_CHARACTERS = 64
"""Longer text is refused before any arithmetic: no quantity that fits in 64 bits needs it."""


@lru_cache(maxsize=4096)
def canonical_quantity(text: str) -> str:
    """The text that Kubernetes stores for a quantity: "1024Mi" is "1Gi", "1000m" is "1", "2000" is "2k".

    Below one nano it rounds away from zero, above 2^63-1 it stays there, both as apimachinery does.

    Raises:
        ValueError: when the text is not a quantity.
    Source: k8s.io/apimachinery v0.35, pkg/api/resource: quantity.go (ParseQuantity, CanonicalizeBytes), suffix.go
    """
    match = _GRAMMAR.fullmatch(text) if len(text) <= _MOST_CHARACTERS else None
    if match is None:
        raise ValueError(f'"{text}" is not a quantity')
    value = _value(match)
    if value == 0:
        return "0"
    if match["binary"] and abs(value) >= 1024 and value.denominator == 1:
        return _in_powers_of_1024(int(value))
    return _in_powers_of_1000(value, exponent=match["exponent"] is not None)


def is_canonical_quantity(text: str) -> bool:
    """Whether the text is a quantity and the API server would store it letter by letter."""
    try:
        return canonical_quantity(text) == text
    except ValueError:
        return False


def _value(match: re.Match[str]) -> Fraction:
    value = Fraction(match["number"].rstrip("."))
    if match["binary"]:
        value *= 1024 ** (_BINARY.index(match["binary"]) + 1)
    else:
        power = int(match["exponent"]) if match["exponent"] else _POWERS[match["decimal"] or ""]
        value = _scaled(value, power)
    value = min(Fraction(ceil(value * _NANO), _NANO), _LARGEST)
    return -value if match["sign"] == "-" else value


def _scaled(value: Fraction, power: int) -> Fraction:
    """value x 10^power, with powers far outside of what a quantity can hold cut off."""
    bounded = max(-2 * _MOST_CHARACTERS, min(power, 2 * _MOST_CHARACTERS))
    return value * Fraction(10) ** bounded


def _in_powers_of_1024(value: int) -> str:
    power = 0
    while value % 1024 == 0 and power < len(_BINARY):
        value //= 1024
        power += 1
    return f"{value}{('', *_BINARY)[power]}"


def _in_powers_of_1000(value: Fraction, *, exponent: bool) -> str:
    nanos, power = int(value * _NANO), -9
    while nanos % 1000 == 0 and power < 18:
        nanos //= 1000
        power += 3
    if not exponent:
        return f"{nanos}{_DECIMAL[power]}"
    return f"{nanos}e{power}" if power else str(nanos)

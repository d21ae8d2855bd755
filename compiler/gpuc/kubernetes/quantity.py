"""Parses, rounds and formats quantities in the same way as k8s.io/apimachinery.

Source: k8s.io/apimachinery v0.35, pkg/api/resource: quantity.go (ParseQuantity, CanonicalizeBytes), suffix.go
"""

import re
from fractions import Fraction
from functools import lru_cache
from math import ceil
from typing import Any, Literal

Form = Literal["decimal", "binary", "exponent"]
"""The form of a quantity's suffix: decimal (k, M, G), binary (Ki, Mi, Gi) or exponent (e3, e6, e9)."""
_BINARY = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_DECIMAL = {-9: "n", -6: "u", -3: "m", 0: "", 3: "k", 6: "M", 9: "G", 12: "T", 15: "P", 18: "E"}
_POWERS = {suffix: power for power, suffix in _DECIMAL.items()}
_GRAMMAR = re.compile(
    r"(?P<sign>[+-]?)(?P<number>[0-9]+(?:\.[0-9]*)?|\.[0-9]+)"
    r"(?:(?P<binary>[KMGTPE]i)|[eE](?P<exponent>[+-]?[0-9]+)|(?P<decimal>[numkMGTPE]?))"
)
_LARGEST = Fraction(2**63 - 1)
_NANO = 10**9
_MAX_CHARACTERS = 64
"""The maximum length of a quantity. A 64-bit value needs fewer characters, and longer texts are slow to parse."""


@lru_cache(maxsize=8192)
def parse_quantity(text: str) -> Fraction:
    """Returns the value that Kubernetes stores for a quantity: 214748364800 for "200Gi", one half for "500m".

    As in apimachinery, the value is rounded away from zero to a multiple of 10^-9, and the maximum is 2^63-1.

    Raises:
        ValueError: if the text is not a quantity.
    """
    return Fraction(_parse(text)[0], _NANO)


def quantity(value: Any) -> Fraction | None:
    """Returns the number that a quantity in an object means, as in "4Gi" or 4; None for any other value."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    try:
        return parse_quantity(str(value))
    except ValueError:
        return None


@lru_cache(maxsize=4096)
def canonical_quantity(text: str) -> str:
    """Returns the text that Kubernetes stores for a quantity: "1Gi" for "1024Mi", "1" for "1000m", "2k" for "2000".

    Raises:
        ValueError: if the text is not a quantity.
    """
    return _print(*_parse(text))


def is_canonical_quantity(text: str) -> bool:
    """Returns whether a text is a quantity that the API server stores without changing the text."""
    try:
        return canonical_quantity(text) == text
    except ValueError:
        return False


def format_quantity(value: int | Fraction, form: Form = "decimal") -> str:
    """Returns the text that Kubernetes stores for a number: "2k" for 2000, or "1Gi" for 2^30 in binary form."""
    return _print(int(value * _NANO), form)


def _parse(text: str) -> tuple[int, Form]:
    """Returns the value of a quantity as a multiple of 10^-9, and the form of its suffix."""
    match = _GRAMMAR.fullmatch(text) if len(text) <= _MAX_CHARACTERS else None
    if match is None:
        raise ValueError(f'"{text}" is not a quantity; write a number with a unit such as 500m, 16, 200Gi or 2Ti')
    form: Form = "binary" if match["binary"] else "exponent" if match["exponent"] else "decimal"
    value = Fraction(match["number"].rstrip("."))
    if form == "binary":
        value *= 1024 ** _BINARY.index(match["binary"])
    else:
        power = int(match["exponent"]) if form == "exponent" else _POWERS[match["decimal"] or ""]
        # Larger powers exceed every quantity and are slow to compute.
        value *= Fraction(10) ** max(-2 * _MAX_CHARACTERS, min(power, 2 * _MAX_CHARACTERS))
    nanos = int(min(Fraction(ceil(value * _NANO)), _LARGEST * _NANO))
    return -nanos if match["sign"] == "-" else nanos, form


def _print(nanos: int, form: Form) -> str:
    if nanos == 0:
        return "0"
    if form == "binary" and nanos % _NANO == 0 and abs(nanos) >= 1024 * _NANO:
        value, power = nanos // _NANO, 0
        while value % 1024 == 0 and power < len(_BINARY) - 1:
            value, power = value // 1024, power + 1
        return f"{value}{_BINARY[power]}"
    power = -9
    while nanos % 1000 == 0 and power < 18:
        nanos, power = nanos // 1000, power + 3
    if form != "exponent":
        return f"{nanos}{_DECIMAL[power]}"
    return f"{nanos}e{power}" if power else str(nanos)

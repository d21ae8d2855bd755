"""Kubernetes quantities in whole base units: parsing what a user wrote, printing what Go would print."""

from __future__ import annotations

import re
from fractions import Fraction

_BINARY = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "Pi": 2**50, "Ei": 2**60}
_DECIMAL = {
    "n": Fraction(1, 10**9), "u": Fraction(1, 10**6), "m": Fraction(1, 10**3), "": Fraction(1),
    "k": Fraction(10**3), "M": Fraction(10**6), "G": Fraction(10**9), "T": Fraction(10**12),
    "P": Fraction(10**15), "E": Fraction(10**18),
}  # fmt: skip
_TEXT = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+))(?:([eE][+-]?\d+)|([KMGTPE]i|[numkMGTPE]?))", re.ASCII)


def parse_quantity(text: str) -> Fraction:
    """The value of a quantity in base units: "200Gi" is 214748364800, "500m" is one half.

    Raises:
        ValueError: when Kubernetes would not take the text.
    Source: k8s.io/apimachinery pkg/api/resource, the grammar in quantity.go
    """
    match = _TEXT.fullmatch(text)
    if not match:
        raise ValueError(f'"{text}" is no quantity; write a number with a unit such as 500m, 16, 200Gi or 2Ti')
    number, exponent, suffix = match.groups()
    if exponent:
        return Fraction(number) * Fraction(10) ** int(exponent[1:])
    return Fraction(number) * (_BINARY[suffix] if suffix in _BINARY else _DECIMAL[suffix or ""])


def format_bytes(count: int) -> str:
    """Bytes in the largest binary unit that divides them: 5497558138880 is 5Ti, 1000 is 1000."""
    for suffix, size in reversed(_BINARY.items()):
        if count and count % size == 0:
            return f"{count // size}{suffix}"
    return str(count)


def format_milli(milli: int) -> str:
    """Thousandths as Go prints them: 1500 is 1500m, 192000 is 192, 2000000 is 2k."""
    return f"{milli}m" if milli % 1000 else format_count(milli // 1000)


def format_count(count: int) -> str:
    """A whole number as Go prints it: 8 is 8, 2000 is 2k."""
    for suffix in ("E", "P", "T", "G", "M", "k"):
        size = int(_DECIMAL[suffix])
        if count and count % size == 0:
            return f"{count // size}{suffix}"
    return str(count)

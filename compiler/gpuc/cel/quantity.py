"""Parses quantities in the same way as Kubernetes' CEL library, which accepts more texts than gpuc.kubernetes.quantity.

Source: k8s.io/apimachinery v0.35.4 pkg/api/resource/quantity.go (ParseQuantity, AsInt64), suffix.go; read, not copied
"""

import re
from fractions import Fraction
from math import ceil

from msgspec import Struct

_TEXT = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?(.*)", re.DOTALL)
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_EXPONENT = re.compile(r"[eE]([+-]?[0-9]{1,4})")
_NANO = 10**9
_LARGEST = 2**63 - 1
_DIGITS = 18
"""The maximum number of digits that Go reads as an integer. Go reads a longer number as a decimal, which asInteger
refuses."""


class Quantity(Struct, frozen=True):
    """A quantity: the value, and whether Go stores the value as an integer or as a decimal."""

    value: Fraction
    is_plain: bool
    """Whether Go stores the quantity as an integer. Go stores 4000m, whose value is 4, as a decimal."""

    def as_integer(self) -> int:
        """Returns the value as an integer.

        Raises:
            ValueError: when Go does not store the quantity as a 64-bit integer.
        """
        if not self.is_plain or not -_LARGEST - 1 <= self.value <= _LARGEST:
            raise ValueError("cannot convert value to integer")
        return int(self.value)


def quantity(text: str) -> Quantity:
    """Parses a quantity such as "4Gi".

    A unit without a number, such as "Gi", has the value 0. It is not a quantity if Go would parse it as a decimal.

    Raises:
        ValueError: when Kubernetes does not accept the text as a quantity.
    """
    match = _TEXT.fullmatch(text)
    if not text or match is None:
        raise ValueError(f'"{text}" is not a quantity')
    sign, integer, fraction, suffix = match[1], match[2].lstrip("0") or "0", match[3] or "", match[4]
    number = Fraction(int(integer + fraction), 10 ** len(fraction))
    if suffix in _BINARY:
        power = _BINARY[suffix]
        number *= 2**power
        is_fast = is_plain = not fraction and 14 - len(integer) - power * 3 // 10 >= 0 and number <= _LARGEST
        number = min(number, Fraction(_LARGEST))
    else:
        scale = _power(text, suffix) - len(fraction)
        number *= Fraction(10) ** (scale + len(fraction))
        is_fast = len(integer) + len(fraction) <= _DIGITS and scale >= -9
        is_plain = is_fast and scale >= 0
    if not is_fast and not (match[2] or fraction):
        raise ValueError(f'"{text}" is not a quantity')
    number = Fraction(ceil(number * _NANO), _NANO)
    return Quantity(-number if sign == "-" else number, is_plain)


def _power(text: str, suffix: str) -> int:
    exponent = _EXPONENT.fullmatch(suffix)
    if exponent is not None:
        return int(exponent[1])
    if suffix not in _DECIMAL:
        raise ValueError(f'"{text}" is not a quantity')
    return _DECIMAL[suffix]

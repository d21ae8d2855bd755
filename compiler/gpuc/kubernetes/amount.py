"""Quantities as whole numbers of billionths, to be added and compared exactly."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from gpuc.kubernetes.canonical import canonical_quantity

ONE = 10**9
"""One unit: a core, a byte, a GPU, a node."""
UNLIMITED = 2**62 // 1000 * ONE
"""From here on Kueue counts a quota as unlimited, at the latest: thousandths of it no longer fit in 64 bits.

Source: kueue v0.19.2 pkg/resources/amount.go (AmountFromQuantity)
"""
_SUFFIXES = {
    "n": 1, "u": 10**3, "m": 10**6, "k": 10**12, "M": 10**15, "G": 10**18, "T": 10**21, "P": 10**24, "E": 10**27,
    "Ki": 2**10 * ONE, "Mi": 2**20 * ONE, "Gi": 2**30 * ONE, "Ti": 2**40 * ONE, "Pi": 2**50 * ONE, "Ei": 2**60 * ONE,
}  # fmt: skip
_IN_BYTES = ("memory", "ephemeral-storage", "hugepages-")


def amount(value: Any) -> int | None:
    """A quantity in billionths of its unit; None for what is none, which its schema tells."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    return _read(str(value))


@lru_cache(maxsize=8192)
def _read(text: str) -> int | None:
    try:
        stored = canonical_quantity(text)
    except ValueError:
        return None
    number, _, exponent = stored.partition("e")
    if exponent:
        power = 9 + int(exponent)  # what is stored is a whole number of billionths
        return int(int(number) * 10**power)
    digits = number.rstrip("EGKMPTikmnu")
    return int(digits) * _SUFFIXES.get(number[len(digits) :], ONE)


def told(resource: str, value: int) -> str:
    """An amount of a resource in words: "64 nvidia.com/gpu", "1.5Ti of memory", "7.5 cpu"."""
    if resource.removeprefix("requests.").startswith(_IN_BYTES):
        size, unit = float(value) / ONE / 2**20, "Mi"
        for larger in ("Gi", "Ti"):
            if size >= 1024:
                size, unit = size / 1024, larger
        return f"{size:.4g}{unit} of {resource}"
    return f"{value / ONE:.6g} {resource}"

"""Amounts of resources: a vector by resource name, in base units, and its canonical text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gpuc.kubernetes.quantity import format_bytes, format_count, format_milli
from gpuc.model.names import CPU, EPHEMERAL_STORAGE, HUGEPAGES, MEMORY

Vector = dict[str, int]
"""Amount by resource name: cpu in thousandths of a core, memory-like resources in bytes, others in pieces."""

MIB = 2**20
GIB = 2**30
_BYTES = (MEMORY, EPHEMERAL_STORAGE, HUGEPAGES)


def scale(vector: Vector, numerator: int, denominator: int = 1) -> Vector:
    """Each amount times a fraction, rounded down; memory-like amounts to whole MiB."""
    return {name: _floor(name, amount * numerator // denominator) for name, amount in vector.items()}


def total(vectors: Iterable[Mapping[str, int]]) -> Vector:
    """The sum of vectors, by resource, in order of first appearance."""
    result: Vector = {}
    for vector in vectors:
        for name, amount in vector.items():
            result[name] = result.get(name, 0) + amount
    return result


def smallest(vectors: Iterable[Vector]) -> Vector:
    """The smallest of each amount over vectors that have the same resources."""
    first, *others = vectors
    return {name: min([amount, *(other[name] for other in others)]) for name, amount in first.items()}


def quantity_text(resource: str, amount: int) -> str:
    """An amount as the API server would print it: 191450 of cpu is 191450m, 4294967296 of memory is 4Gi."""
    if resource == CPU:
        return format_milli(amount)
    return format_bytes(amount) if resource in _BYTES else format_count(amount)


def texts(vector: Mapping[str, int]) -> dict[str, str]:
    """The canonical text of each amount."""
    return {name: quantity_text(name, amount) for name, amount in vector.items()}


def _floor(resource: str, amount: int) -> int:
    return amount // MIB * MIB if resource in _BYTES else amount

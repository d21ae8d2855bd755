"""Amounts of resources as integers, as Kueue and the scheduler count them: cpu in millicores, memory in bytes.

Source: kubernetes-sigs/kueue v0.19.2 pkg/resources/requests.go (ResourceValue, ResourceQuantity)
"""

from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import lru_cache
from math import ceil
from typing import Any

from gpuc.kubernetes.quantity import format_quantity, quantity

Amounts = dict[str, int]
"""Amounts by resource name: cpu in millicores, memory and storage in bytes, other resources in units."""

CPU, MEMORY, EPHEMERAL_STORAGE, STORAGE, PODS = "cpu", "memory", "ephemeral-storage", "storage", "pods"
MIB = 2**20
GIB = 2**30
HUGE_PAGES = "hugepages-"
"""The start of the names of huge pages."""
PAGES = {f"{HUGE_PAGES}2Mi": 2 * MIB, f"{HUGE_PAGES}1Gi": GIB}
"""The size of one page in bytes, by resource."""
UNLIMITED = 2**62 // 1000
"""The smallest amount that gpuc treats as an unlimited quota. No cluster has so much of a resource."""


def amount(resource: str, value: Any) -> int | None:
    """Converts a quantity such as "4Gi" into an integer, rounded up; None if the value is not a quantity."""
    exact = exact_amount(resource, value)
    return None if exact is None else ceil(exact)


def exact_amount(resource: str, value: Any) -> Fraction | None:
    """Converts a quantity such as "500m" into a number without rounding; None if the value is not a quantity."""
    exact = quantity(value)
    return exact * 1000 if exact is not None and resource == CPU else exact


def amounts(quantities: Any) -> Amounts:
    """Converts a map of quantities, such as requests of a container, into integers. Omits invalid values."""
    items = quantities.items() if isinstance(quantities, dict) else ()
    counts = ((str(name), amount(str(name), value)) for name, value in items)
    return {name: count for name, count in counts if count is not None}


def is_bytes(resource: str) -> bool:
    """Returns whether a resource is counted in bytes, for example memory."""
    return resource in (MEMORY, EPHEMERAL_STORAGE, STORAGE) or resource.startswith(HUGE_PAGES)


@lru_cache(maxsize=8192)
def quantity_text(resource: str, count: int) -> str:
    """Converts an integer into a quantity: "1500m" for 1500 cpu, "4Gi" for 4294967296 memory, "2k" for 2000 GPUs."""
    if resource == CPU:
        return format_quantity(Fraction(count, 1000))
    return format_quantity(count, "binary" if is_bytes(resource) else "decimal")


def texts(counts: Mapping[str, int]) -> dict[str, str]:
    """Converts integers into quantities such as "4Gi", by resource."""
    return {name: quantity_text(name, count) for name, count in counts.items()}


def counted(resource: str, count: int) -> str:
    """Returns an amount as a quantity with the name of its resource, for example "4Gi memory"."""
    return f"{quantity_text(resource, count)} {resource}"


def described(counts: Mapping[str, int]) -> str:
    """Returns the amounts that are not zero as text: "8 nvidia.com/gpu, 4Gi memory"; "nothing" if all are zero."""
    return ", ".join(counted(name, count) for name, count in counts.items() if count) or "nothing"


def rounded(resource: str, count: int | Fraction) -> str:
    """Returns a rounded amount for messages: "64 nvidia.com/gpu", "1.5Ti of memory", "7.5 cpu"."""
    name = resource.removeprefix("requests.")
    if not is_bytes(name):
        return f"{float(count) / (1000 if name == CPU else 1):.6g} {resource}"
    size, unit = float(count) / MIB, "Mi"
    for larger in ("Gi", "Ti"):
        if size >= 1024:
            size, unit = size / 1024, larger
    return f"{size:.4g}{unit} of {resource}"


def scale(counts: Mapping[str, int], numerator: int, denominator: int = 1) -> Amounts:
    """Multiplies amounts by a fraction and rounds them down. Bytes are rounded down to full MiB."""
    units = {name: MIB if is_bytes(name) else 1 for name in counts}
    return {name: count * numerator // denominator // units[name] * units[name] for name, count in counts.items()}


def round_down(counts: Mapping[str, int], full_cores: bool = True) -> Amounts:
    """Rounds down cpu to full cores and bytes to full GiB; below one core or GiB, to multiples of 100m or 64 MiB.

    Args:
        full_cores: False to round cpu above one core to 100m too.
    """
    return {name: _round_to_unit(name, count, full_cores) for name, count in counts.items()}


def total(several: Iterable[Mapping[str, int]]) -> Amounts:
    """Adds up several maps of amounts. The resources keep the order in which they first appear."""
    sums: Amounts = {}
    for counts in several:
        for name, count in counts.items():
            sums[name] = sums.get(name, 0) + count
    return sums


def smallest(several: Iterable[Amounts]) -> Amounts:
    """Returns the smallest amount of each resource in several maps, which must have the same resources."""
    first, *others = several
    return {name: min([count, *(other[name] for other in others)]) for name, count in first.items()}


def pods_that_fit(room: Mapping[str, int], pod: Mapping[str, int]) -> int:
    """Returns how many pods with equal requests fit into the free resources of a node."""
    return max(0, min(room.get(name, 0) // count for name, count in pod.items() if count > 0))


def _round_to_unit(resource: str, count: int, full_cores: bool) -> int:
    if not (resource == CPU or is_bytes(resource)):
        return count
    full, part = (1000 if full_cores else 100, 100) if resource == CPU else (GIB, 64 * MIB)
    return count // full * full or count // part * part or count

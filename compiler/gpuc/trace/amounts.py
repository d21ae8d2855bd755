"""Amounts of resources in whole units, as Kueue and the scheduler count them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpuc.kubernetes.amount import ONE
from gpuc.kubernetes.amount import amount as billionths
from gpuc.kubernetes.canonical import canonical_quantity
from gpuc.objects.object_set import pairs

Amounts = dict[str, int]
"""Amount by resource name: cpu in thousandths of a core, all others in whole units (bytes, pieces)."""

CPU, MEMORY, STORAGE, PODS = "cpu", "memory", "ephemeral-storage", "pods"
_BINARY = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "Pi": 2**50, "Ei": 2**60}


def amount(resource: str, value: Any) -> int | None:
    """A quantity in whole units, rounded up; None where the value is no quantity.

    Source: kubernetes-sigs/kueue v0.19.2 pkg/resources/requests.go, ResourceValue
    """
    exact = billionths(value)
    return None if exact is None else -(-exact // (ONE // 1000 if resource == CPU else ONE))


def amounts(value: Any) -> Amounts:
    """The amounts of a map of quantities; what is no quantity is left out."""
    found = ((str(name), amount(str(name), each)) for name, each in pairs(value))
    return {name: each for name, each in found if each is not None}


def text(resource: str, count: int) -> str:
    """An amount as Kubernetes prints it: 1500 of cpu is 1500m, 4294967296 of memory is 4Gi."""
    if resource == CPU:
        return canonical_quantity(f"{count}m")
    if resource in (MEMORY, STORAGE) or resource.startswith("hugepages-"):
        whole = next((unit for unit, size in reversed(_BINARY.items()) if count and count % size == 0), "")
        return f"{count // _BINARY.get(whole, 1)}{whole}"
    return canonical_quantity(str(count))


def described(wanted: Mapping[str, int]) -> str:
    """Amounts in words: "8 nvidia.com/gpu, 4Gi memory"."""
    return ", ".join(f"{text(name, count)} {name}" for name, count in wanted.items() if count) or "nothing"


def places(room: Mapping[str, int], pod: Mapping[str, int]) -> int:
    """How many equal pods have room."""
    return max(0, min(room.get(name, 0) // count for name, count in pod.items() if count > 0))

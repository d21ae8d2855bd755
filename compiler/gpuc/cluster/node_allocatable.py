"""Computes the allocatable resources of a node from its instance type and the settings of the kubelet."""

from math import ceil
from typing import Any

from gpuc.catalog.operations import Kubelet
from gpuc.catalog.records import InstanceType
from gpuc.kubernetes.amounts import CPU, EPHEMERAL_STORAGE, GIB, MEMORY, MIB, Amounts, amount, amounts
from gpuc.objects.object_set import dig

_DISABLED = 100
"""The percentage with which the kubelet ignores an eviction threshold."""


def predicted_allocatable(instance: InstanceType, kubelet: Kubelet, disk_bytes: int, settings: Any = None) -> Amounts:
    """Returns the allocatable cpu, memory and ephemeral storage of a new node, as Karpenter predicts them.

    The requests of DaemonSets are not subtracted.

    Args:
        disk_bytes: the size of the root volume, or of the instance store if pods use the instance store.
        settings: spec.kubelet of the EC2NodeClass, unvalidated; None without settings.

    Source: aws/karpenter-provider-aws v1.14.1 pkg/providers/instancetype/types.go and the values in
    website/content/en/preview/reference/instance-types.md; the tests compare the function with values of this page
    """
    memory = predicted_memory(instance, kubelet)
    pods_mib = kubelet.reserved_memory_per_pod_mib * max_pods(instance, settings)
    reserved = {
        CPU: _reserved_cpu_milli(instance.vcpu, kubelet),
        MEMORY: (kubelet.reserved_memory_mib + pods_mib) * MIB,
        EPHEMERAL_STORAGE: kubelet.reserved_storage_gib * GIB,
    } | amounts(dig(settings, "kubeReserved"))
    system, hard = amounts(dig(settings, "systemReserved")), dig(settings, "evictionHard")
    eviction_storage = _share(disk_bytes, kubelet.eviction_storage_percent)
    evicted = {
        MEMORY: _threshold(dig(hard, "memory.available"), memory, kubelet.eviction_memory_mib * MIB),
        EPHEMERAL_STORAGE: _threshold(dig(hard, "nodefs.available"), disk_bytes, eviction_storage),
    }
    capacity = {CPU: instance.vcpu * 1000, MEMORY: memory, EPHEMERAL_STORAGE: disk_bytes}
    return {
        name: size - sum(reservation.get(name, 0) for reservation in (reserved, system, evicted))
        for name, size in capacity.items()
    }


def predicted_memory(instance: InstanceType, kubelet: Kubelet) -> int:
    """Returns the bytes of memory that Karpenter expects of a new node. Source: as above (memory)."""
    arm64_mib = kubelet.arm64_reserved_memory_mib if instance.arch == "arm64" else 0
    return (instance.memory_mib - arm64_mib) * (1000 - kubelet.vm_memory_overhead_permille) // 1000 * MIB


def max_pods(instance: InstanceType, settings: Any) -> int:
    """Returns the maximum number of pods on a node. `settings` is spec.kubelet of the EC2NodeClass, unvalidated."""
    count = dig(settings, "maxPods")
    return count if isinstance(count, int) and not isinstance(count, bool) and count > 0 else instance.pods


def _reserved_cpu_milli(vcpu: int, kubelet: Kubelet) -> int:
    first = kubelet.reserved_cpu_milli_by_core
    further = max(0, vcpu - len(first)) * kubelet.reserved_cpu_micro_per_further_core // 1000
    return sum(first[:vcpu]) + further


def _threshold(value: Any, size: int, default: int) -> int:
    """Returns the bytes that an eviction threshold reserves: a percentage of the size, or a quantity."""
    if isinstance(value, str) and value.endswith("%") and value[:-1].replace(".", "", 1).isdigit():
        percent = float(value[:-1])
        return 0 if percent == _DISABLED else _share(size, percent)
    count = amount(MEMORY, value)
    return default if count is None else count


def _share(size: int, percent: float) -> int:
    """Returns a percentage of a size in bytes, rounded up, with the rounding of Karpenter's floating-point numbers."""
    return ceil(size / 100 * percent)

"""The allocatable resources of a node, for quotas, limits, templates and checks."""

from __future__ import annotations

from gpuc.catalog.operations import Kubelet
from gpuc.catalog.records import InstanceType
from gpuc.kubernetes.amounts import CPU, EPHEMERAL_STORAGE, GIB, MEMORY, MIB, Amounts


def predicted_allocatable(
    instance: InstanceType, kubelet: Kubelet, disk_bytes: int, system_cpu_milli: int = 0
) -> Amounts:
    """Returns allocatable cpu, memory and ephemeral storage of a node, as Karpenter predicts them.

    disk_bytes is the size of the root volume, or of the instance store if pods use the instance store.
    system_cpu_milli is the additional CPU that the EC2NodeClass reserves for the system.

    Source: aws/karpenter-provider-aws v1.14.1 pkg/providers/instancetype/types.go and the values in
    website/content/en/preview/reference/instance-types.md; the function returns all nine values exactly
    """
    arm64_mib = kubelet.arm64_reserved_memory_mib if instance.arch == "arm64" else 0
    memory_mib = (instance.memory_mib - arm64_mib) * (1000 - kubelet.vm_memory_overhead_permille) // 1000
    memory_mib -= kubelet.reserved_memory_mib + kubelet.reserved_memory_per_pod_mib * instance.pods
    memory_mib -= kubelet.eviction_memory_mib
    reserved_bytes = kubelet.reserved_storage_gib * GIB + disk_bytes * kubelet.eviction_storage_percent // 100
    return {
        CPU: instance.vcpu * 1000 - _reserved_cpu_milli(instance.vcpu, kubelet) - system_cpu_milli,
        MEMORY: memory_mib * MIB,
        EPHEMERAL_STORAGE: (disk_bytes - reserved_bytes) // MIB * MIB,
    }


def _reserved_cpu_milli(vcpu: int, kubelet: Kubelet) -> int:
    first = kubelet.reserved_cpu_milli_by_core
    further = max(0, vcpu - len(first)) * kubelet.reserved_cpu_micro_per_further_core // 1000
    return sum(first[:vcpu]) + further

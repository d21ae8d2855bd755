"""The capacity of an instance type for pods: the resources of the instance minus reservations.

The reservations are for the operating system, the kubelet, and the agents that run as DaemonSets.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpuc.catalog.records import EKS, FLEET
from gpuc.kubernetes.amounts import CPU, GIB, MEMORY, MIB, PODS, Amounts, amount, amounts
from gpuc.kubernetes.amounts import EPHEMERAL_STORAGE as STORAGE
from gpuc.objects.object_set import dig, items

if TYPE_CHECKING:
    from gpuc.catalog import Catalog
    from gpuc.catalog.records import Daemonset, InstanceType

_DATA_DEVICES = {"Bottlerocket": "/dev/xvdb", "AL2": "/dev/xvda", "AL2023": "/dev/xvda"}
"""The device name of the volume with the data of pods, by AMI family."""


def allocatable(catalog: Catalog, instance: InstanceType, node_class: Any) -> Amounts:
    """Returns the allocatable cpu, memory, ephemeral storage and pods that Karpenter predicts for a node.

    The requests of DaemonSets are not subtracted.

    Args:
        node_class: the spec of the EC2NodeClass, unvalidated; None if the EC2NodeClass does not exist.

    Source: aws/karpenter-provider-aws v1.14.1 pkg/providers/instancetype/types.go
    """
    facts = catalog.kubelet
    kubelet = dig(node_class, "kubelet")
    pods = _positive(dig(kubelet, "maxPods"), instance.pods)
    arm_mib = facts.arm64_reserved_memory_mib if instance.arch == "arm64" else 0
    memory_mib = (instance.memory_mib - arm_mib) * (1000 - facts.vm_memory_overhead_permille) // 1000
    memory, disk = memory_mib * MIB, _disk_bytes(catalog, instance, node_class)
    cores = facts.reserved_cpu_milli_by_core
    cpu = sum(cores[: instance.vcpu])
    cpu += max(0, instance.vcpu - len(cores)) * facts.reserved_cpu_micro_per_further_core // 1000
    reserved = {
        CPU: cpu,
        MEMORY: (facts.reserved_memory_mib + facts.reserved_memory_per_pod_mib * pods) * MIB,
        STORAGE: facts.reserved_storage_gib * GIB,
    } | amounts(dig(kubelet, "kubeReserved"))
    system = amounts(dig(kubelet, "systemReserved"))
    hard = dig(kubelet, "evictionHard")
    evicted = {
        MEMORY: _eviction_threshold(dig(hard, "memory.available"), memory, facts.eviction_memory_mib * MIB),
        STORAGE: _eviction_threshold(
            dig(hard, "nodefs.available"), disk, -(-disk * facts.eviction_storage_percent // 100)
        ),
    }
    capacity = {CPU: instance.vcpu * 1000, MEMORY: memory, STORAGE: disk}
    remaining = {
        name: size - sum(reservation.get(name, 0) for reservation in (reserved, system, evicted))
        for name, size in capacity.items()
    }
    return {**remaining, PODS: pods}


def agent_requests(
    catalog: Catalog, instance: InstanceType, has_efa: bool, charts: frozenset[str], present: frozenset[str]
) -> Amounts:
    """Returns the requests of the agents of EKS, of the fleet and of the installed charts on one node.

    Args:
        has_efa: whether the node has EFA devices.
        charts: the names of the installed Helm charts.
        present: the names of the DaemonSets among the objects. Their own requests count.
    """
    kinds = {"all", *(["gpu"] if instance.gpu_count else []), *(["efa"] if has_efa else [])}
    rows = [row for row in catalog.daemonsets if row.nodes in kinds and _is_installed(catalog, row, charts)]
    rows = [row for row in rows if row.component != FLEET or row.name not in present]
    return {
        CPU: sum(row.cpu_milli for row in rows),
        MEMORY: sum(row.memory_mib for row in rows) * MIB,
        PODS: sum(1 for row in rows if row.component in (EKS, FLEET)),
    }


def _is_installed(catalog: Catalog, row: Daemonset, charts: frozenset[str]) -> bool:
    """Returns whether EKS, the fleet or an installed chart contains the DaemonSet."""
    if row.component in (EKS, FLEET):
        return True
    releases = catalog.releases.values()
    return any(row.component in release and release[row.component].chart in charts for release in releases)


def _disk_bytes(catalog: Catalog, instance: InstanceType, node_class: Any) -> int:
    """Returns the size of the volume with the data of pods: local NVMe storage, or the volume of the node class."""
    if dig(node_class, "instanceStorePolicy") == "RAID0" and instance.local_nvme_gb:
        return instance.local_nvme_gb * 10**9
    default = catalog.kubelet.root_volume_gib * GIB
    disks = [disk for _, disk in items(dig(node_class, "blockDeviceMappings"))]
    if not disks:
        return default
    family = dig(node_class, "amiFamily")
    device = _DATA_DEVICES.get(family if isinstance(family, str) else _alias_family(catalog, node_class), "/dev/xvda")
    root = [disk for disk in disks if dig(disk, "rootVolume") is True]
    named = disks[-1:] if family == "Custom" else [disk for disk in disks if dig(disk, "deviceName") == device]
    for disk in (*root[:1], *named[:1]):
        size = amount(STORAGE, dig(disk, "ebs", "volumeSize"))
        if size is not None:
            return size
    return default


def _alias_family(catalog: Catalog, node_class: Any) -> str:
    """Returns the AMI family of the alias in amiSelectorTerms; an empty string without a known alias."""
    aliases = [str(dig(term, "alias") or "") for _, term in items(dig(node_class, "amiSelectorTerms"))]
    images = catalog.images
    families = [images[name].ami_family for alias in aliases if (name := alias.partition("@")[0].lower()) in images]
    return families[0] if families else ""


def _eviction_threshold(value: Any, size: int, default: int) -> int:
    """Returns the bytes that an eviction threshold reserves: a percentage of the size, or a quantity."""
    if isinstance(value, str) and value.endswith("%") and value[:-1].replace(".", "", 1).isdigit():
        return -int(-size * float(value[:-1]) // 100)
    count = amount(MEMORY, value)
    return default if count is None else count


def _positive(value: Any, default: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else default

"""The capacity of an instance type for pods: EC2's figures minus the reservations of the system, kubelet and agents."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from gpuc.catalog import load
from gpuc.kubernetes.amounts import CPU, MEMORY, PODS, Amounts, amount, amounts
from gpuc.kubernetes.amounts import EPHEMERAL_STORAGE as STORAGE
from gpuc.kubernetes.node_pool import INSTANCE_TYPE
from gpuc.objects.object_set import dig, items

if TYPE_CHECKING:
    from gpuc.catalog.records import Daemonset, InstanceType

GPU = "nvidia.com/gpu"
EFA = "vpc.amazonaws.com/efa"
_PROVIDER = "karpenter.k8s.aws/"
MIB, GIB = 2**20, 2**30
_DEVICE = {"Bottlerocket": "/dev/xvdb", "AL2": "/dev/xvda", "AL2023": "/dev/xvda"}
"""The device of the volume that holds the pods, by AMI family."""


@cache
def instance_labels(name: str) -> Mapping[str, str]:
    """The labels of all nodes of an instance type; for a type outside of the catalog, those that its name contains.

    Source: aws/karpenter-provider-aws v1.14.1 pkg/apis/v1/labels.go
    """
    family, _, size = name.partition(".")
    found = {INSTANCE_TYPE: name, f"{_PROVIDER}instance-family": family, f"{_PROVIDER}instance-size": size}
    instance = load().instances.get(name)
    if instance is None:
        return found
    found["kubernetes.io/arch"] = instance.arch
    found[f"{_PROVIDER}instance-cpu"] = str(instance.vcpu)
    found[f"{_PROVIDER}instance-memory"] = str(instance.memory_mib)
    if instance.gpu and instance.gpu_count:
        found[f"{_PROVIDER}instance-gpu-name"] = load().gpus[instance.gpu].karpenter_name
        found[f"{_PROVIDER}instance-gpu-count"] = str(instance.gpu_count)
    return found


def allocatable(instance: InstanceType, node_class: Any) -> Amounts:
    """The allocatable cpu, memory, ephemeral storage and pods that Karpenter predicts for a node, before DaemonSets.

    Args:
        node_class: the spec of the EC2NodeClass, unvalidated; None if it is missing.

    Source: aws/karpenter-provider-aws v1.14.1 pkg/providers/instancetype/types.go
    """
    facts = load().kubelet
    kubelet = dig(node_class, "kubelet")
    pods = _positive(dig(kubelet, "maxPods"), instance.pods)
    arm_mib = facts.arm64_reserved_memory_mib if instance.arch == "arm64" else 0
    memory_mib = (instance.memory_mib - arm_mib) * (1000 - facts.vm_memory_overhead_permille) // 1000
    memory, disk = memory_mib * MIB, _disk_bytes(instance, node_class)
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
        MEMORY: _signal(dig(hard, "memory.available"), memory, facts.eviction_memory_mib * MIB),
        STORAGE: _signal(dig(hard, "nodefs.available"), disk, -(-disk * facts.eviction_storage_percent // 100)),
    }
    found = {CPU: instance.vcpu * 1000, MEMORY: memory, STORAGE: disk}
    left = {name: size - sum(part.get(name, 0) for part in (reserved, system, evicted)) for name, size in found.items()}
    return {**left, PODS: pods}


def agent_requests(instance: InstanceType, has_efa: bool, charts: frozenset[str]) -> Amounts:
    """The requests of the agents on every node of the type: agents of EKS and of the installed charts."""
    kinds = {"all", *(["gpu"] if instance.gpu_count else []), *(["efa"] if has_efa else [])}
    rows = [row for row in load().daemonsets if row.nodes in kinds and _is_installed(row, charts)]
    return {
        CPU: sum(row.cpu_milli for row in rows),
        MEMORY: sum(row.memory_mib for row in rows) * MIB,
        PODS: sum(1 for row in rows if row.component == "eks"),
    }


def _is_installed(row: Daemonset, charts: frozenset[str]) -> bool:
    if row.component == "eks":
        return True
    sets = load().releases.values()
    return any(row.component in release and release[row.component].chart in charts for release in sets)


def _disk_bytes(instance: InstanceType, node_class: Any) -> int:
    if dig(node_class, "instanceStorePolicy") == "RAID0" and instance.local_nvme_gb:
        return instance.local_nvme_gb * 10**9
    default = load().kubelet.root_volume_gib * GIB
    disks = [disk for _, disk in items(dig(node_class, "blockDeviceMappings"))]
    if not disks:
        return default
    family = dig(node_class, "amiFamily")
    device = _DEVICE.get(family if isinstance(family, str) else _alias_family(node_class), "/dev/xvda")
    root = [disk for disk in disks if dig(disk, "rootVolume") is True]
    named = disks[-1:] if family == "Custom" else [disk for disk in disks if dig(disk, "deviceName") == device]
    for disk in (*root[:1], *named[:1]):
        size = amount(STORAGE, dig(disk, "ebs", "volumeSize"))
        if size is not None:
            return size
    return default


def _alias_family(node_class: Any) -> str:
    """The AMI family of the alias in amiSelectorTerms."""
    aliases = [str(dig(term, "alias") or "") for _, term in items(dig(node_class, "amiSelectorTerms"))]
    images = load().images
    found = [images[name].ami_family for alias in aliases if (name := alias.partition("@")[0].lower()) in images]
    return found[0] if found else ""


def _signal(value: Any, size: int, default: int) -> int:
    """The amount that an eviction threshold reserves: a percentage of the size, or a quantity."""
    if isinstance(value, str) and value.endswith("%") and value[:-1].replace(".", "", 1).isdigit():
        return -int(-size * float(value[:-1]) // 100)
    found = amount(MEMORY, value)
    return default if found is None else found


def _positive(value: Any, default: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else default

"""What a node of an instance type has for pods: EC2's figures less what the machine, the kubelet and agents keep."""

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
_MIB, _GIB = 2**20, 2**30
_DEVICE = {"Bottlerocket": "/dev/xvdb", "AL2": "/dev/xvda", "AL2023": "/dev/xvda"}
"""The disk that carries pods, by family of images."""


@cache
def instance_labels(name: str) -> Mapping[str, str]:
    """Labels of all nodes of an instance type; of one that the catalog does not have, those that its name says.

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
    """cpu, memory, ephemeral storage and pods that Karpenter predicts a node leaves, before DaemonSets.

    Args:
        node_class: the spec of the EC2NodeClass, of any shape; None where there is none.

    Source: aws/karpenter-provider-aws v1.14.1 pkg/providers/instancetype/types.go
    """
    facts = load().kubelet
    kubelet = dig(node_class, "kubelet")
    pods = _whole(dig(kubelet, "maxPods"), instance.pods)
    arm_mib = facts.arm64_reserved_memory_mib if instance.arch == "arm64" else 0
    memory_mib = (instance.memory_mib - arm_mib) * (1000 - facts.vm_memory_overhead_permille) // 1000
    memory, disk = memory_mib * _MIB, _disk_bytes(instance, node_class)
    cores = facts.reserved_cpu_milli_by_core
    cpu = sum(cores[: instance.vcpu])
    cpu += max(0, instance.vcpu - len(cores)) * facts.reserved_cpu_micro_per_further_core // 1000
    kept = {
        CPU: cpu,
        MEMORY: (facts.reserved_memory_mib + facts.reserved_memory_per_pod_mib * pods) * _MIB,
        STORAGE: facts.reserved_storage_gib * _GIB,
    } | amounts(dig(kubelet, "kubeReserved"))
    system = amounts(dig(kubelet, "systemReserved"))
    hard = dig(kubelet, "evictionHard")
    evicted = {
        MEMORY: _signal(dig(hard, "memory.available"), memory, facts.eviction_memory_mib * _MIB),
        STORAGE: _signal(dig(hard, "nodefs.available"), disk, -(-disk * facts.eviction_storage_percent // 100)),
    }
    found = {CPU: instance.vcpu * 1000, MEMORY: memory, STORAGE: disk}
    left = {name: size - sum(part.get(name, 0) for part in (kept, system, evicted)) for name, size in found.items()}
    return {**left, PODS: pods}


def overhead(instance: InstanceType, has_efa: bool, charts: frozenset[str]) -> Amounts:
    """What the agents of every such node ask for: those of the managed cluster, and of charts that are installed."""
    kinds = {"all", *(["gpu"] if instance.gpu_count else []), *(["efa"] if has_efa else [])}
    rows = [row for row in load().daemonsets if row.nodes in kinds and _is_installed(row, charts)]
    return {
        CPU: sum(row.cpu_milli for row in rows),
        MEMORY: sum(row.memory_mib for row in rows) * _MIB,
        PODS: sum(1 for row in rows if row.component == "eks"),
    }


def _is_installed(row: Daemonset, charts: frozenset[str]) -> bool:
    if row.component == "eks":
        return True
    sets = load().releases.values()
    return any(row.component in each and each[row.component].chart in charts for each in sets)


def _disk_bytes(instance: InstanceType, node_class: Any) -> int:
    if dig(node_class, "instanceStorePolicy") == "RAID0" and instance.local_nvme_gb:
        return instance.local_nvme_gb * 10**9
    default = load().kubelet.root_volume_gib * _GIB
    disks = [each for _, each in items(dig(node_class, "blockDeviceMappings"))]
    if not disks:
        return default
    family = dig(node_class, "amiFamily")
    device = _DEVICE.get(family if isinstance(family, str) else _alias_family(node_class), "/dev/xvda")
    root = [each for each in disks if dig(each, "rootVolume") is True]
    named = disks[-1:] if family == "Custom" else [each for each in disks if dig(each, "deviceName") == device]
    for each in (*root[:1], *named[:1]):
        size = amount(STORAGE, dig(each, "ebs", "volumeSize"))
        if size is not None:
            return size
    return default


def _alias_family(node_class: Any) -> str:
    """The family of the alias that selects the image."""
    aliases = [str(dig(each, "alias") or "") for _, each in items(dig(node_class, "amiSelectorTerms"))]
    images = load().images
    found = [images[name].ami_family for alias in aliases if (name := alias.partition("@")[0].lower()) in images]
    return found[0] if found else ""


def _signal(value: Any, size: int, default: int) -> int:
    """What an eviction threshold keeps: a share of the size, or an amount."""
    if isinstance(value, str) and value.endswith("%") and value[:-1].replace(".", "", 1).isdigit():
        return -int(-size * float(value[:-1]) // 100)
    found = amount(MEMORY, value)
    return default if found is None else found


def _whole(value: Any, default: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else default

"""The disk of a node, and the requests of the agents that run on each node as DaemonSets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpuc.catalog.records import EKS, FLEET
from gpuc.kubernetes.amounts import CPU, EPHEMERAL_STORAGE, GIB, MEMORY, MIB, PODS, Amounts, amount
from gpuc.objects.object_set import dig, items

if TYPE_CHECKING:
    from gpuc.catalog import Catalog
    from gpuc.catalog.records import Daemonset, InstanceType

GPU = "nvidia.com/gpu"
EFA = "vpc.amazonaws.com/efa"
_DATA_DEVICES = {"Bottlerocket": "/dev/xvdb", "AL2": "/dev/xvda", "AL2023": "/dev/xvda"}
"""The device name of the volume with the data of pods, by AMI family."""


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


def disk_bytes(catalog: Catalog, instance: InstanceType, node_class: Any) -> int:
    """Returns the size of the volume with the data of pods: local NVMe storage, or the volume of the node class.

    Args:
        node_class: the spec of the EC2NodeClass, unvalidated; None if the EC2NodeClass does not exist.
    """
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
        size = amount(EPHEMERAL_STORAGE, dig(disk, "ebs", "volumeSize"))
        if size is not None:
            return size
    return default


def _alias_family(catalog: Catalog, node_class: Any) -> str:
    """Returns the AMI family of the alias in amiSelectorTerms; an empty string without a known alias."""
    aliases = [str(dig(term, "alias") or "") for _, term in items(dig(node_class, "amiSelectorTerms"))]
    images = catalog.images
    families = [images[name].ami_family for alias in aliases if (name := alias.partition("@")[0].lower()) in images]
    return families[0] if families else ""

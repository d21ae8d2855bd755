"""Reads the node class of a NodePool: the node labels and the allocatable resources that depend on the node class.

Source: aws/karpenter-provider-aws v1.14.1 pkg/providers/instancetype/types.go (computeRequirements, getOS)
"""

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from gpuc.cluster.node_allocatable import max_pods, predicted_allocatable
from gpuc.kubernetes.amounts import EPHEMERAL_STORAGE, GIB, PODS, Amounts, amount
from gpuc.kubernetes.api_groups import KARPENTER_AWS
from gpuc.kubernetes.node_pool import AWS, CAPACITY_TYPE, REGION
from gpuc.kubernetes.selector import Domain
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import dig, items

if TYPE_CHECKING:
    from gpuc.catalog import Catalog
    from gpuc.catalog.records import InstanceType

AUTO_MODE_GROUP: Final = "eks.amazonaws.com"
OS: Final = "kubernetes.io/os"
RESERVATION_ID: Final = f"{AWS}capacity-reservation-id"
RESERVATION_LABELS: Final = tuple(f"{AWS}capacity-reservation-{name}" for name in ("id", "type", "interruptible"))
"""The labels of reserved nodes."""
_ZONE_NAME = re.compile(r"([a-z]{2}(?:-[a-z]+)+-\d)[a-z]")
"""The form of the name of an availability zone, which starts with the name of the region."""
_ABSENT = Domain(True, frozenset(), False)
DATA_DEVICES = {"bottlerocket": "/dev/xvdb"}
"""The device names of the volumes with the data of pods, by AMI families; /dev/xvda for other families."""


class NodeClass:
    """The node class that a NodePool names in nodeClassRef, for example an EC2NodeClass."""

    def __init__(self, api_group: str, manifest: Manifest | None) -> None:
        self.api_group = api_group
        self.manifest = manifest
        """The object; None if the input does not have it."""
        self._spec = dig(manifest.body, "spec") if manifest else None
        aliases = (str(dig(term, "alias") or "") for _, term in items(dig(self._spec, "amiSelectorTerms")))
        self._aliases = [alias.partition("@")[0].lower() for alias in aliases]
        """The aliases of the images, in lower case and without versions."""
        self.family = str(dig(self._spec, "amiFamily") or next(iter(self._aliases), "")).lower()
        """The AMI family in lower case; empty without one."""
        self._is_windows = any(name.startswith("windows") for name in (self.family, *self._aliases))
        self.reservation_ids = self.ids("capacityReservationSelectorTerms") or frozenset()
        """The ids of the capacity reservations; empty if the node class selects them by tags, or is not known."""
        interfaces = dig(self._spec, "networkInterfaces")
        count = sum(dig(interface, "interfaceType") == "efa-only" for _, interface in items(interfaces))
        self.efa_interfaces = count if isinstance(interfaces, list) else None
        """The number of EFA devices of a node; None if the instance type decides."""

    def offer(self, region: str) -> dict[str, Domain]:
        """Returns the possible values of the node labels that depend on the node class.

        Labels that can have any value are not in the result.

        Args:
            region: the AWS region of the nodes; empty if it is unknown.
        """
        result = {REGION: _one_of(region)} if region and self.api_group in (AUTO_MODE_GROUP, KARPENTER_AWS) else {}
        if self.api_group == AUTO_MODE_GROUP:
            return {**result, OS: _one_of("linux")}
        if self.api_group != KARPENTER_AWS or not isinstance(self._spec, dict):
            return result
        result[OS] = _one_of("windows" if self._is_windows else "linux")
        if not list(items(dig(self._spec, "capacityReservationSelectorTerms"))):
            result[CAPACITY_TYPE] = _one_of("on-demand", "spot")
            result |= dict.fromkeys(RESERVATION_LABELS, _ABSENT)
        elif ids := self.reservation_ids:
            result[RESERVATION_ID] = Domain(True, ids, False)
        if not self._is_windows:
            result["node.kubernetes.io/windows-build"] = _ABSENT
        return result

    def ids(self, field: str) -> frozenset[str] | None:
        """Returns the ids in a list of selector terms of the node class; None if a term selects by tags instead."""
        ids = [dig(term, "id") for _, term in items(dig(self._spec, field))]
        return frozenset(map(str, ids)) if None not in ids else None

    def allocatable(self, catalog: "Catalog", instance: "InstanceType") -> Amounts:
        """Returns the allocatable cpu, memory, ephemeral storage and pods of a node, as Karpenter computes them.

        The requests of DaemonSets are not subtracted.
        """
        settings, disk = dig(self._spec, "kubelet"), self._disk_bytes(catalog, instance)
        resources = predicted_allocatable(instance, catalog.kubelet, disk, settings)
        return resources | {PODS: max_pods(instance, settings)}

    def _disk_bytes(self, catalog: "Catalog", instance: "InstanceType") -> int:
        """Returns the size of the volume with the data of pods: local NVMe storage, or the volume of the node class."""
        if dig(self._spec, "instanceStorePolicy") == "RAID0" and instance.local_nvme_gb:
            return instance.local_nvme_gb * 10**9
        disks = [disk for _, disk in items(dig(self._spec, "blockDeviceMappings"))]
        device = DATA_DEVICES.get(self.family, "/dev/xvda")
        root = [disk for disk in disks if dig(disk, "rootVolume") is True]
        named = disks[-1:] if self.family == "custom" else [disk for disk in disks if dig(disk, "deviceName") == device]
        sizes = [amount(EPHEMERAL_STORAGE, dig(disk, "ebs", "volumeSize")) for disk in (*root[:1], *named[:1])]
        return next((size for size in sizes if size is not None), catalog.kubelet.root_volume_gib * GIB)


def _one_of(*values: str) -> Domain:
    return Domain(False, frozenset(values), False)


def region_of(zones: Iterable[str]) -> str:
    """Returns the AWS region of availability zones; an empty text if the zones belong to none or to several regions.

    Local Zones and Wavelength Zones are ignored, because their names have other forms.
    """
    regions = {match[1] for zone in zones if (match := _ZONE_NAME.fullmatch(zone))}
    return regions.pop() if len(regions) == 1 else ""

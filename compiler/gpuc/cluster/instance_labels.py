"""The node labels that Karpenter derives from an EC2 instance type, and all instance types that Karpenter knows.

Source: aws/karpenter-provider-aws v1.14.1 pkg/providers/instancetype/types.go (computeRequirements)
"""

import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import TYPE_CHECKING

from gpuc.kubernetes.node_pool import AUTO_MODE, AWS, AWS_LABELS, INSTANCE_TYPE, Offer, is_negative, normal
from gpuc.kubernetes.selector import Requirement

if TYPE_CHECKING:
    from gpuc.catalog import Catalog
    from gpuc.catalog.ec2 import Ec2Family

_TENANCY = f"{AWS}instance-tenancy"
_SCHEME = re.compile(r"([a-z]+)(?:-[0-9]+tb)?([0-9]+)")
TYPE_LABELS = frozenset(
    ("kubernetes.io/arch", INSTANCE_TYPE, *(key for key in AWS_LABELS if "/instance-" in key and key != _TENANCY))
)
"""The labels that the instance type of a node determines: their value, or that the node does not have the label."""


@cache
def instance_labels(catalog: "Catalog", name: str) -> Mapping[str, str]:
    """Returns the labels that all nodes of an instance type have, as far as gpuc knows the labels.

    If the catalog has no data about the instance type, these are only the labels that follow from its name.
    """
    family, _, size = name.partition(".")
    labels = {INSTANCE_TYPE: name, **_provider(_of_name(family, size))}
    if has_all_labels(catalog, name):
        row = catalog.ec2_families[family]
        labels |= {"kubernetes.io/arch": row.arch, **_provider(_of_figures(row, size))}
    instance = catalog.instances.get(name)
    if instance is None:
        return labels
    labels["kubernetes.io/arch"] = instance.arch
    figures = {"cpu": str(instance.vcpu), "memory": str(instance.memory_mib)}
    if instance.gpu and instance.gpu_count:
        figures |= {"gpu-name": catalog.gpus[instance.gpu].karpenter_name, "gpu-count": str(instance.gpu_count)}
        figures["gpu-manufacturer"] = "nvidia"
    if instance.local_nvme_gb:
        figures["local-nvme"] = str(instance.local_nvme_gb)
    return labels | _provider(figures)


def _provider(values: Mapping[str, str]) -> dict[str, str]:
    return {f"{AWS}instance-{name}": value for name, value in values.items()}


def _of_name(family: str, size: str) -> dict[str, str]:
    """Returns the labels that Karpenter derives from the name of an instance type, without prefix."""
    labels = {"family": family, "size": size, "capability-flex": "true" if "-flex" in family else "false"}
    scheme = _SCHEME.match(family)
    return labels | ({"category": scheme[1], "generation": scheme[2]} if scheme else {})


def _of_figures(row: "Ec2Family", size: str) -> dict[str, str]:
    """Returns the labels that Karpenter derives from the description of an instance type, without prefix."""
    labels = {
        "cpu": str(row.number(row.vcpu, size)),
        "memory": str(row.number(row.memory_mib, size)),
        "cpu-manufacturer": row.cpu_manufacturer,
        "cpu-sustained-clock-speed-mhz": str(row.number(row.mhz, size)),
        "encryption-in-transit-supported": "true" if row.is_encrypted else "false",
        "hypervisor": "" if size.startswith("metal") else "xen" if row.is_xen else "nitro",
    }
    optional = {"ebs-bandwidth": row.ebs_mbps, "network-bandwidth": row.network_mbps, "local-nvme": row.nvme_gb}
    labels |= {name: str(number) for name, values in optional.items() if (number := row.number(values, size))}
    if row.gpu:
        labels |= {"gpu-name": row.gpu, "gpu-manufacturer": row.gpu_manufacturer}
        labels["gpu-count"] = str(row.number(row.gpu_count, size))
        labels["gpu-memory"] = str(row.number(row.gpu_memory_mib, size))
    if row.accelerator:
        labels |= {"accelerator-name": row.accelerator, "accelerator-manufacturer": row.accelerator_manufacturer}
        labels["accelerator-count"] = str(row.number(row.accelerator_count, size))
    return labels


def has_all_labels(catalog: "Catalog", name: str) -> bool:
    """Returns whether gpuc knows all labels of an instance type: its nodes then have no other label from Karpenter."""
    family, _, size = name.partition(".")
    row = catalog.ec2_families.get(family)
    return row is not None and size in row.sizes


@cache
def all_types(catalog: "Catalog") -> tuple[str, ...]:
    """Returns the names of all EC2 instance types that Karpenter can start, sorted."""
    known = {f"{row.family}.{size}" for row in catalog.ec2_families.values() for size in row.sizes}
    unpublished = {f"{row.family}.{size}" for row in catalog.unpublished_types.values() for size in row.sizes}
    return tuple(sorted(known | unpublished | catalog.instances.keys()))


def devices(catalog: "Catalog", name: str) -> dict[str, int]:
    """Returns the devices of an instance type, without NVIDIA GPUs and EFA devices; empty if they are unknown."""
    family, _, size = name.partition(".")
    return catalog.ec2_families[family].devices(size) if has_all_labels(catalog, name) else {}


@cache
def devices_of_category(catalog: "Catalog", category: str) -> frozenset[str]:
    """Returns the resource names of all devices that instance types of a category have, for example of p or c."""
    names = _of_category(catalog, category)
    nvidia = {"nvidia.com/gpu" for name in names if (row := catalog.instance_type(name)) and row.gpu_count}
    found = {device for name in names for device in devices(catalog, name)}
    return frozenset({*found, *nvidia, "vpc.amazonaws.com/efa"})


def _of_category(catalog: "Catalog", category: str) -> list[str]:
    """Returns the names of all EC2 instance types of a category."""
    key = f"{AWS}instance-category"
    return [name for name in all_types(catalog) if instance_labels(catalog, name).get(key) == category]


_DEVICE_LABELS = (f"{AWS}instance-gpu-", f"{AWS}instance-accelerator-")


@cache
def _has_devices(catalog: "Catalog", category: str) -> bool:
    """Returns whether an instance type of a category has a GPU or an accelerator; True for an unknown category."""
    published = [name for name in _of_category(catalog, category) if has_all_labels(catalog, name)]
    keys = (key for name in published for key in instance_labels(catalog, name))
    return not published or any(key.startswith(_DEVICE_LABELS) for key in keys)


def of_aws(key: str) -> str:
    """Returns Karpenter's name of a label of EKS Auto Mode. Returns other label keys unchanged."""
    key = normal(key)
    return f"{AWS}{key.removeprefix(AUTO_MODE)}" if key.startswith(f"{AUTO_MODE}instance-") else key


def meets_type(catalog: "Catalog", name: str, own: Offer, term: Iterable[Requirement] = ()) -> bool | None:
    """Returns whether nodes of an instance type meet the requirements of a NodePool and of a pod.

    Returns None if the result depends on labels of the instance type that gpuc does not know.

    Args:
        own: the requirements of the NodePool. A label that the instance type does not have meets only NotIn and
            DoesNotExist.
        term: the requirements of the pod, which the scheduler also checks on the node.

    Source: sigs.k8s.io/karpenter v1.14.1 pkg/scheduling/requirements.go (Intersects)
    """
    labels, is_complete = instance_labels(catalog, name), has_all_labels(catalog, name)
    category = labels.get(f"{AWS}instance-category", "")
    verdict: bool | None = True
    for key, domain, by_pod in (
        *((of_aws(key), domain, False) for key, domain in own.items()),
        *((of_aws(key), domain, True) for key, domain in term),
    ):
        if key not in TYPE_LABELS:
            continue
        value = labels.get(key)
        if value is None and not (
            is_complete or (key.startswith(_DEVICE_LABELS) and not _has_devices(catalog, category))
        ):
            verdict = None
        elif not (domain.allows(value) if value is not None or by_pod else is_negative(domain)):
            return False
    return verdict

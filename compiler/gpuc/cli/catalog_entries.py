"""What `gpuc catalog` lists: one entry for each instance type, GPU, image, release and so on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from gpuc.catalog import Catalog
from gpuc.catalog.ec2 import Ec2Family
from gpuc.catalog.records import InstanceType

FAMILIES = "instance-families"
TYPES = "instance-types"
GPUS = "gpus"
MIG = "mig"
SUBJECTS = {
    FAMILIES: "families of EC2 instance types",
    TYPES: "EC2 instance types",
    GPUS: "NVIDIA GPUs",
    MIG: "MIG profiles of GPU boards with the same memory",
    "images": "families of node images",
    "daemonsets": "DaemonSets on nodes, and what a pod requests",
    "releases": "release sets: components and their versions",
    "kubernetes": "Kubernetes versions",
    "policies": "admission policies",
    "regions": "AWS regions with image registries of EKS add-ons",
    "prices": "prices of the fleet",
}
"""Descriptions of the subjects, in the order of the list."""


@dataclass(frozen=True)
class Entry:
    """One entry of the catalog."""

    subject: str
    """A key of SUBJECTS."""
    name: str
    summary: str
    is_own: bool
    """Whether the entry is, or contains, a row of the fleet."""
    row: Any
    """The record of the catalog; the version of each component for a release set."""


def entries(catalog: Catalog) -> Iterator[Entry]:
    """Yields all entries of the catalog, by subject and name. The sizes of a family are sorted by vCPUs."""
    for subject in SUBJECTS:
        yield from sorted(_READERS[subject](catalog), key=_order)


def _order(entry: Entry) -> tuple[Any, ...]:
    if entry.subject == TYPES:
        return (_natural(entry.row.family), entry.row.vcpu, entry.name)
    return (_natural(entry.name),)


def _natural(name: str) -> tuple[tuple[bool, int, str], ...]:
    """Returns a sort key in which numbers are sorted by value: m6g comes before m10g."""
    parts: list[str] = [""]
    for character in name:
        if parts[-1] and character.isdecimal() is not parts[-1][-1].isdecimal():
            parts.append("")
        parts[-1] += character
    return tuple((not part.isdecimal(), int(part) if part.isdecimal() else 0, part) for part in parts)


def is_usable(catalog: Catalog, instance: InstanceType) -> bool:
    """Returns whether node pools can use an instance type: it has no accelerators, or complete NVIDIA GPUs."""
    family = catalog.ec2_families.get(instance.family)
    return bool(instance.gpu_count) if instance.gpu else not (family and (family.gpu or family.accelerator))


def _rows(catalog: Catalog) -> dict[str, list[InstanceType]]:
    """Returns all instance types with figures, by family."""
    names = dict.fromkeys((*catalog.ec2_families, *(row.family for row in catalog.instances.values())))
    return {family: catalog.family(family) for family in names}


def _families(catalog: Catalog) -> Iterator[Entry]:
    own = catalog.own.instances if catalog.own else {}
    for family, rows in _rows(catalog).items():
        device = _device(catalog, rows[0], catalog.ec2_families.get(family))
        sizes = " ".join(row.type.partition(".")[2] for row in rows)
        summary = f"{rows[0].arch}  {device}{'  ' if device else ''}{sizes}"
        yield Entry(FAMILIES, family, summary, any(row.type in own for row in rows), rows)


def _device(catalog: Catalog, instance: InstanceType, family: Ec2Family | None) -> str:
    other = (family.gpu or family.accelerator) if family is not None else ""
    if is_usable(catalog, instance) or not (instance.gpu or other):
        return instance.gpu
    return f"{instance.gpu or other} (not supported)"


def _types(catalog: Catalog) -> Iterator[Entry]:
    own = catalog.own.instances if catalog.own else {}
    for rows in _rows(catalog).values():
        for row in rows:
            yield Entry(TYPES, row.type, _figures(catalog, row), row.type in own, row)


def _figures(catalog: Catalog, row: InstanceType) -> str:
    parts = [row.arch, f"{row.vcpu} vCPU", f"{row.memory_mib / 1024:g} GiB", f"{row.pods} pods"]
    device = _device(catalog, row, catalog.ec2_families.get(row.family))
    parts += [f"{row.gpu_count} x {device}" if row.gpu_count else device] if device else []
    parts += [f"{row.efa} EFA"] if row.efa else []
    return ", ".join(parts)


def _gpus(catalog: Catalog) -> Iterator[Entry]:
    used: dict[str, list[str]] = {}
    for row in catalog.instances.values():
        if row.gpu and row.family not in used.setdefault(row.gpu, []):
            used[row.gpu].append(row.family)
    for gpu in catalog.gpus.values():
        families = f", in {' '.join(used[gpu.id])}" if gpu.id in used else ""
        mig = ", MIG" if gpu.id in catalog.profile_sets else ""
        yield Entry(GPUS, gpu.id, f"{gpu.name}, {gpu.architecture}{mig}{families}", False, gpu)


def _mig(catalog: Catalog) -> Iterator[Entry]:
    for row in {row.id: row for row in catalog.profile_sets.values()}.values():
        yield Entry(MIG, row.id, " ".join(row.profiles), False, row)


def _images(catalog: Catalog) -> Iterator[Entry]:
    own = catalog.own.images if catalog.own else {}
    for name, row in catalog.images.items():
        driver = row.driver_version or ("from the GPU Operator" if row.driver == "operator" else "unknown")
        yield Entry("images", name, f"{row.ami_family}, NVIDIA driver {driver}", name in own, row)


def _daemonsets(catalog: Catalog) -> Iterator[Entry]:
    own = catalog.own.daemonsets if catalog.own else {}
    for row in catalog.daemonsets:
        summary = f"{row.nodes} nodes, {row.cpu_milli}m CPU, {row.memory_mib} MiB, from {row.component}"
        yield Entry("daemonsets", row.name, summary, row.name in own, row)


def _releases(catalog: Catalog) -> Iterator[Entry]:
    for name, components in catalog.releases.items():
        versions = {row.component: row.version for row in components.values()}
        summary = " ".join(f"{component}={version}" for component, version in versions.items())
        yield Entry("releases", name, summary, False, versions)


def _kubernetes(catalog: Catalog) -> Iterator[Entry]:
    for row in catalog.kubernetes.values():
        operator = f", GPU Operator {row.gpu_operator_min} or later" if row.gpu_operator_min else ""
        yield Entry("kubernetes", row.version, f"Karpenter {row.karpenter_min} or later{operator}", False, row)


def _policies(_: Catalog) -> Iterator[Entry]:
    from gpuc.policy.library import policies

    for name, policy in policies().items():
        yield Entry("policies", name, policy.title, False, {"title": policy.title, "why": policy.why})


def _regions(catalog: Catalog) -> Iterator[Entry]:
    for row in catalog.eks_registries.values():
        yield Entry("regions", row.region, row.host, False, row)


def _prices(catalog: Catalog) -> Iterator[Entry]:
    for row in catalog.own.prices if catalog.own else ():
        summary = f"{row.hourly_usd:g} USD per hour on {row.date}"
        yield Entry("prices", f"{row.instance_type} {row.region} {row.purchase}", summary, True, row)


_READERS: dict[str, Callable[[Catalog], Iterator[Entry]]] = {
    FAMILIES: _families,
    TYPES: _types,
    GPUS: _gpus,
    MIG: _mig,
    "images": _images,
    "daemonsets": _daemonsets,
    "releases": _releases,
    "kubernetes": _kubernetes,
    "policies": _policies,
    "regions": _regions,
    "prices": _prices,
}

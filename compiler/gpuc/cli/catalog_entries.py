"""The entries that `gpuc catalog` lists: one for each instance type, GPU, node image, release of a chart and so on."""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from msgspec import Struct

from gpuc.catalog import Catalog
from gpuc.catalog.records import InstanceType

FAMILIES, TYPES, GPUS, MIG = "instance-families", "instance-types", "gpus", "mig"


class Entry(Struct, frozen=True):
    """One entry of the catalog, for example about an instance type."""

    subject: str
    """A key of SUBJECTS."""
    name: str
    summary: str
    is_own: bool
    """Whether the entry is, or contains, a row of the fleet."""
    row: Any
    """The record of the catalog; the version of each component for a release set."""


_Rows = Iterable[tuple[str, str, Any]]
"""The name, the summary and the record of each row of a subject."""


def entries(catalog: Catalog) -> Iterator[Entry]:
    """Yields all entries of the catalog, by subject and name. Instance types of a family are sorted by vCPUs."""
    own = catalog.own
    types = own.instances if own else {}
    own_names = {TYPES: types, "images": own.images, "daemonsets": own.daemonsets} if own else {}
    for subject, (_, rows_of) in _TABLE.items():
        found = []
        for name, summary, row in rows_of(catalog):
            is_own = (
                any(size.type in types for size in row) if subject == FAMILIES else name in own_names.get(subject, ())
            )
            found.append(Entry(subject, name, summary, is_own or subject == "prices", row))
        yield from sorted(found, key=_order)


def _order(entry: Entry) -> tuple[Any, ...]:
    if entry.subject == TYPES:
        return (_natural(entry.row.family), entry.row.vcpu, entry.name)
    return (_natural(entry.name),)


def _natural(name: str) -> list[tuple[bool, int, str]]:
    """Returns a sort key in which numbers are sorted by value: m6g comes before m10g."""
    parts = re.findall(r"\d+|\D+", name)
    return [(not part.isdecimal(), int(part) if part.isdecimal() else 0, part) for part in parts]


def _instance_families(catalog: Catalog) -> dict[str, list[InstanceType]]:
    """Returns all instance types with figures, by family. A server is the only type of its family."""
    others = (*catalog.instances.values(), *catalog.servers.values())
    names = dict.fromkeys((*catalog.ec2_families, *(row.family for row in others)))
    return {family: catalog.family(family) for family in names}


def _families(catalog: Catalog) -> _Rows:
    for family, rows in _instance_families(catalog).items():
        device = _device(catalog, rows[0])
        sizes = " ".join(row.type.partition(".")[2] or row.type for row in rows)
        yield family, f"{rows[0].arch}  {device}{'  ' if device else ''}{sizes}", rows


def _device(catalog: Catalog, instance: InstanceType) -> str:
    """Returns the GPU or accelerator of an instance type. Node pools use only complete NVIDIA GPUs."""
    family = catalog.ec2_families.get(instance.family)
    device = instance.gpu or (family.gpu or family.accelerator if family else "")
    is_usable = bool(instance.gpu_count) if instance.gpu else not device
    return device if is_usable else f"{device} (not supported)"


def _types(catalog: Catalog) -> _Rows:
    for row in (row for rows in _instance_families(catalog).values() for row in rows):
        parts = [row.arch, f"{row.vcpu} vCPU", f"{row.memory_mib / 1024:g} GiB", f"{row.pods} pods"]
        if device := _device(catalog, row):
            parts.append(f"{row.gpu_count} x {device}" if row.gpu_count else device)
        yield row.type, ", ".join([*parts, f"{row.efa} EFA"] if row.efa else parts), row


def _gpus(catalog: Catalog) -> _Rows:
    used: dict[str, dict[str, None]] = {}
    for row in catalog.instances.values():
        used.setdefault(row.gpu, {})[row.family] = None
    for gpu in catalog.gpus.values():
        families = f", in {' '.join(used[gpu.id])}" if gpu.id in used else ""
        mig = ", MIG" if gpu.id in catalog.profile_sets else ""
        yield gpu.id, f"{gpu.name}, {gpu.architecture}{mig}{families}", gpu


def _images(catalog: Catalog) -> _Rows:
    for name, row in catalog.images.items():
        driver = row.driver_version or ("from the GPU Operator" if row.driver == "operator" else "unknown")
        yield name, f"{row.ami_family}, NVIDIA driver {driver}", row


def _daemonsets(catalog: Catalog) -> _Rows:
    for row in catalog.daemonsets:
        summary = f"{row.nodes} nodes, {row.cpu_milli}m CPU, {row.memory_mib} MiB, from {row.component}"
        yield row.name, summary, row


def _releases(catalog: Catalog) -> _Rows:
    for name, components in catalog.releases.items():
        versions = {row.component: row.version for row in components.values()}
        yield name, " ".join(f"{component}={version}" for component, version in versions.items()), versions


def _kubernetes(catalog: Catalog) -> _Rows:
    from gpuc.emit.component import components

    titles = {component.name: component.title.removeprefix("the ") for component in components()}
    for row in catalog.kubernetes.values():
        least = (f"{titles[name]} {version} or later" for name, version in row.minimum.items())
        yield row.version, ", ".join(least), row


def _policies(_: Catalog) -> _Rows:
    from gpuc.policy.library import policies

    for name, policy in policies().items():
        yield name, policy.title, {"title": policy.title, "why": policy.why}


def _prices(catalog: Catalog) -> _Rows:
    for row in catalog.own.prices if catalog.own else ():
        name = f"{row.instance_type} {row.region} {row.purchase}"
        yield name, f"{row.hourly_usd:g} USD per hour on {row.date}", row


_TABLE: dict[str, tuple[str, Callable[[Catalog], _Rows]]] = {
    FAMILIES: ("families of instance types of EC2, and servers", _families),
    TYPES: ("instance types of EC2, and servers", _types),
    GPUS: ("NVIDIA GPUs", _gpus),
    MIG: (
        "MIG profiles of GPU boards with the same memory",
        lambda catalog: {
            row.id: (row.id, " ".join(row.profiles), row) for row in catalog.profile_sets.values()
        }.values(),
    ),
    "images": ("families of node images", _images),
    "daemonsets": ("DaemonSets on nodes, and what a pod requests", _daemonsets),
    "releases": ("release sets: components and their versions", _releases),
    "kubernetes": ("Kubernetes versions", _kubernetes),
    "policies": ("admission policies", _policies),
    "regions": (
        "AWS regions with image registries of EKS add-ons",
        lambda catalog: ((row.region, row.host, row) for row in catalog.eks_registries.values()),
    ),
    "prices": ("prices of the fleet", _prices),
}
SUBJECTS = {subject: description for subject, (description, _) in _TABLE.items()}
"""Descriptions of the subjects, in the order of the list."""

"""The catalog: tables with what gpuc knows about the hardware of AWS and NVIDIA, and about versions of software.

`load()` returns the catalog of gpuc. A fleet can add rows to the tables, or replace rows of gpuc: `Catalog(rows)` is
the catalog of such a fleet.
"""

from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

from gpuc.catalog.records import FLEET
from gpuc.catalog.rows import by_key, typed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gpuc.catalog.ec2 import Ec2Family, UnpublishedTypes
    from gpuc.catalog.operations import DatapathFact, DcgmMetric, Kubelet, KubernetesVersion, Nccl, TimeZone, Xid
    from gpuc.catalog.own_rows import OwnRows
    from gpuc.catalog.prices import FamilyPrices, Price
    from gpuc.catalog.records import (
        Daemonset,
        EksRegistry,
        EmbeddedDocument,
        Gpu,
        Image,
        InstanceType,
        MigProfileSet,
        NullField,
        Operand,
        Purchase,
        Release,
        UnsupportedInstance,
    )


def _read(file: str, table: str, own: str = "") -> cached_property[Any]:
    """Returns an attribute of the catalog: the records of a table by their identifying fields.

    Args:
        own: the attribute of OwnRows that replaces records; empty if a fleet has no rows of its own in the table.
    """

    def records(catalog: "Catalog") -> dict[Any, Any]:
        replacing = getattr(catalog.own, own) if own and catalog.own else {}
        return {**by_key(file, table), **replacing}

    return cached_property(records)


class Catalog:
    """The tables about AWS, NVIDIA and the components. The JSON file of a table is read when the table is first used.

    Args:
        own: the rows that a fleet adds or replaces; None for the catalog of gpuc.
    """

    instances: "cached_property[dict[str, InstanceType]]" = _read("instances", "instances", "instances")
    """EC2 instance types with GPUs, and the instance types of the fleet, by name."""
    unsupported_instances: "cached_property[dict[str, UnsupportedInstance]]" = _read("instances", "unsupported")
    """EC2 instance types that pools cannot use, by name."""
    servers: "cached_property[dict[str, InstanceType]]" = _read("servers", "servers")
    """Types of servers by name. The name of an EC2 instance type has a dot, the name of a server has none."""
    ec2_families: "cached_property[dict[str, Ec2Family]]" = _read("ec2", "families")
    """All EC2 instance types in Karpenter's instance type reference, by family."""
    unpublished_types: "cached_property[dict[str, UnpublishedTypes]]" = _read("ec2", "unpublished")
    """Names of EC2 instance types without published figures, by family."""
    _family_prices: "cached_property[dict[str, FamilyPrices]]" = _read("prices", "prices")
    """On-demand prices by family of instance types."""
    gpus: "cached_property[dict[str, Gpu]]" = _read("gpus", "gpus")
    """GPUs by id."""
    images: "cached_property[dict[str, Image]]" = _read("images", "images", "images")
    """Families of node images by id: al2, al2023, bottlerocket, ubuntu."""
    releases: "cached_property[dict[str, dict[str, Release]]]" = _read("releases", "components")
    """Helm charts with their versions, by release set and component."""
    operands: "cached_property[dict[str, dict[str, Operand]]]" = _read("releases", "operands")
    """Operand images of the GPU Operator by operator version and path in the ClusterPolicy."""
    _daemonsets: "cached_property[dict[str, Daemonset]]" = _read("releases", "daemonsets", "daemonsets")
    """DaemonSets that run on nodes, by name."""
    eks_registries: "cached_property[dict[str, EksRegistry]]" = _read("registries", "eks")
    """Image registries of EKS add-ons by region."""
    kubernetes: "cached_property[dict[str, KubernetesVersion]]" = _read("versions", "kubernetes")
    """Kubernetes versions with their component requirements, by version."""
    datapaths: "cached_property[dict[str, dict[str, DatapathFact]]]" = _read("datapaths", "datapaths")
    """What the network policy engines match, by engine and subject."""
    xids: "cached_property[dict[int, Xid]]" = _read("xids", "xids")
    """XID error codes of the GPU driver by number."""
    dcgm_metrics: "cached_property[dict[str, DcgmMetric]]" = _read("dcgm", "metrics")
    """Fields of the DCGM exporter by name."""
    time_zones: "cached_property[dict[str, TimeZone]]" = _read("time_zones", "zones")
    """Time zones with their offsets from UTC, by name."""

    def __init__(self, own: "OwnRows | None" = None) -> None:
        self.own = own

    def instance_type(self, name: str) -> "InstanceType | None":
        """Returns the properties of an EC2 instance type or of a server; None if gpuc does not know the properties."""
        if name in self.instances:
            return self.instances[name]
        if name in self.servers:
            return self.servers[name]
        family, _, size = name.partition(".")
        row = self.ec2_families.get(family)
        return row.instance(size) if row is not None and size in row.sizes else None

    def family(self, name: str) -> "list[InstanceType]":
        """Returns the known instance types of a family, such as p5: types of gpuc by size, then types of the fleet."""
        row = self.ec2_families.get(name)
        names = [f"{name}.{size}" for size in row.sizes] if row is not None else []
        others = (*self.instances.values(), *self.servers.values())
        names += [other.type for other in others if other.family == name and other.type not in names]
        return [instance for other in names if (instance := self.instance_type(other)) is not None]

    def prices(self, instance_type: str) -> "list[Price]":
        """Returns the known prices of an instance type, sorted by region, purchase option and date.

        If the fleet has a price for a region and a purchase option, the result does not contain the price of gpuc.
        """
        own = [row for row in self.own.prices if row.instance_type == instance_type] if self.own else []
        replaced = {(row.region, row.purchase) for row in own}
        known = (row for row in self._known_prices(instance_type) if (row.region, row.purchase) not in replaced)
        return sorted([*own, *known], key=lambda row: (row.region, row.purchase, row.date))

    def price(self, instance_type: str, region: str, purchase: "Purchase") -> "Price | None":
        """Returns the newest known price of an instance type in a region; None without a known price."""
        found = [row for row in self.prices(instance_type) if (row.region, row.purchase) == (region, purchase)]
        return found[-1] if found else None

    def _known_prices(self, instance_type: str) -> "Iterator[Price]":
        """Yields the prices in gpuc's table, which has on-demand prices."""
        from gpuc.catalog.prices import Price
        from gpuc.catalog.rows import read

        family, _, size = instance_type.partition(".")
        row = self._family_prices.get(family)
        if row is not None and size in row.sizes:
            source = "; ".join(read("prices")["sources"][key] for key in row.source)
            hourly = row.hourly_usd[row.sizes.index(size)]
            yield Price(instance_type, row.region, "on-demand", hourly, row.date, source)

    @cached_property
    def profile_sets(self) -> "dict[str, MigProfileSet]":
        """The MIG profiles that a GPU supports, by GPU id. GPUs that do not support MIG are not included."""
        sets: dict[str, MigProfileSet] = by_key("mig", "sets")
        for name, profiles in by_key("mig", "profiles").items():
            sets[name].profiles.update(profiles)
        return {gpu: row for row in sets.values() for gpu in row.gpus}

    @cached_property
    def all_releases(self) -> "tuple[Release, ...]":
        """The charts of all release sets. A release set has one version of each chart."""
        return tuple(release for rows in self.releases.values() for release in rows.values())

    @cached_property
    def chart_groups(self) -> dict[str, tuple[str, ...]]:
        """The API groups whose CustomResourceDefinitions or controller a chart installs, by the name of the chart."""
        return {
            release_set[component].chart: release.groups
            for release_set in self.releases.values()
            for release in release_set.values()
            if release.groups
            for component in (release.component, release.crds_from or release.component)
        }

    @cached_property
    def null_fields(self) -> "dict[str, tuple[NullField, ...]]":
        """The fields that a chart renders as null if a Helm value is empty, by component."""
        fields: dict[str, list[NullField]] = {}
        for row in typed("releases", "nulls"):
            fields.setdefault(row.component, []).append(row)
        return {component: tuple(rows) for component, rows in fields.items()}

    @cached_property
    def documents(self) -> "tuple[EmbeddedDocument, ...]":
        """The YAML documents that Helm values contain as strings, such as the configuration of Kueue."""
        return tuple(typed("releases", "documents"))

    @cached_property
    def daemonsets(self) -> "tuple[Daemonset, ...]":
        """The DaemonSets that gpuc or the fleet knows, sorted by name."""
        return tuple(row for _, row in sorted(self._daemonsets.items()))

    def daemonsets_of(self, components: "Iterable[str]") -> "list[Daemonset]":
        """Returns the DaemonSets of the fleet, of components and of a substrate, sorted by name.

        `components` contains the names of components and the folder of the substrate.
        """
        installed = {FLEET, *components}
        return [row for row in self.daemonsets if row.component in installed]

    @cached_property
    def nccl(self) -> "Nccl":
        """What gpuc knows about NCCL: its variables, good and harmful settings, and what pods with EFA need."""
        from gpuc.catalog.operations import Nccl

        (pod,) = typed("nccl", "pod")
        return Nccl(tuple(typed("nccl", "verdicts")), by_key("nccl", "variables"), pod)

    @cached_property
    def kubelet(self) -> "Kubelet":
        """The resources of a node that the virtual machine, the kubelet and the operating system reserve."""
        kubelet: Kubelet
        (kubelet,) = typed("kubelet", "kubelet")
        return kubelet


@cache
def load() -> Catalog:
    """Returns the catalog of gpuc, without the rows of a fleet. All calls return the same object."""
    return Catalog()

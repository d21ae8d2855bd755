"""The catalog of facts about AWS, NVIDIA and the components. `load()` returns the catalog of gpuc.

A fleet can have rows of its own: `Catalog(rows)` is the catalog of a fleet.
"""

from __future__ import annotations

from functools import cache, cached_property
from typing import TYPE_CHECKING

from gpuc.catalog.records import (
    EKS,
    FLEET,
    Daemonset,
    EksRegistry,
    Gpu,
    Image,
    InstanceType,
    MigProfile,
    MigProfileSet,
    NullField,
    Operand,
    Purchase,
    Release,
    UnsupportedInstance,
)
from gpuc.catalog.rows import typed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gpuc.catalog.ec2 import Ec2Family, UnpublishedTypes
    from gpuc.catalog.operations import DatapathFact, DcgmMetric, Kubelet, KubernetesVersion, Nccl, TimeZone, Xid
    from gpuc.catalog.own_rows import OwnRows
    from gpuc.catalog.prices import FamilyPrices, Price


class Catalog:
    """The tables of facts about AWS, NVIDIA and the components. A table is read from its JSON file at the first use.

    Args:
        own: the rows of a fleet, which replace rows of gpuc; None for the catalog of gpuc.
    """

    def __init__(self, own: OwnRows | None = None) -> None:
        self.own = own

    @cached_property
    def instances(self) -> dict[str, InstanceType]:
        """EC2 instance types with GPUs, and the instance types of the fleet, by name."""
        rows = {row.type: row for row in typed(InstanceType, "instances", "instances")}
        return {**rows, **self.own.instances} if self.own else rows

    def instance_type(self, name: str) -> InstanceType | None:
        """Returns the figures of any EC2 instance type; None without published figures."""
        if name in self.instances:
            return self.instances[name]
        family, _, size = name.partition(".")
        row = self.ec2_families.get(family)
        return row.instance(size) if row is not None and size in row.sizes else None

    def family(self, name: str) -> list[InstanceType]:
        """Returns the instance types of a family that have figures: those of gpuc by size, then those of the fleet."""
        row = self.ec2_families.get(name)
        names = [f"{name}.{size}" for size in row.sizes] if row is not None else []
        names += [other.type for other in self.instances.values() if other.family == name and other.type not in names]
        return [instance for other in names if (instance := self.instance_type(other)) is not None]

    @cached_property
    def unsupported_instances(self) -> dict[str, UnsupportedInstance]:
        """EC2 instance types that pools cannot use, by name."""
        return {row.type: row for row in typed(UnsupportedInstance, "instances", "unsupported")}

    @cached_property
    def ec2_families(self) -> dict[str, Ec2Family]:
        """All EC2 instance types in Karpenter's instance type reference, by family."""
        from gpuc.catalog.ec2 import Ec2Family

        return {row.family: row for row in typed(Ec2Family, "ec2", "families")}

    @cached_property
    def unpublished_types(self) -> dict[str, UnpublishedTypes]:
        """Names of EC2 instance types without published figures, by family."""
        from gpuc.catalog.ec2 import UnpublishedTypes

        return {row.family: row for row in typed(UnpublishedTypes, "ec2", "unpublished")}

    @cached_property
    def _family_prices(self) -> dict[str, FamilyPrices]:
        """On-demand prices by family of instance types."""
        from gpuc.catalog.prices import FamilyPrices

        return {row.family: row for row in typed(FamilyPrices, "prices", "prices")}

    def prices(self, instance_type: str) -> list[Price]:
        """Returns the known prices of an instance type, sorted by region, purchase option and date.

        For a region and purchase option with a price of the fleet, the result does not contain the price of gpuc.
        """
        own = [row for row in self.own.prices if row.instance_type == instance_type] if self.own else []
        replaced = {(row.region, row.purchase) for row in own}
        known = (row for row in self._known_prices(instance_type) if (row.region, row.purchase) not in replaced)
        return sorted([*own, *known], key=lambda row: (row.region, row.purchase, row.date))

    def price(self, instance_type: str, region: str, purchase: Purchase) -> Price | None:
        """Returns the price of an instance type: the price with the latest date; None without a known price."""
        found = [row for row in self.prices(instance_type) if (row.region, row.purchase) == (region, purchase)]
        return found[-1] if found else None

    def _known_prices(self, instance_type: str) -> Iterator[Price]:
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
    def gpus(self) -> dict[str, Gpu]:
        """GPUs by id."""
        return {row.id: row for row in typed(Gpu, "gpus", "gpus")}

    @cached_property
    def profile_sets(self) -> dict[str, MigProfileSet]:
        """MIG profile sets by GPU id. GPUs that do not support MIG are not included."""
        sets = typed(MigProfileSet, "mig", "sets")
        by_id = {row.id: row for row in sets}
        for profile in typed(MigProfile, "mig", "profiles"):
            by_id[profile.set].profiles[profile.profile] = profile
        return {gpu: row for row in sets for gpu in row.gpus}

    @cached_property
    def images(self) -> dict[str, Image]:
        """Families of node images by id: al2, al2023, bottlerocket, ubuntu."""
        rows = {row.id: row for row in typed(Image, "images", "images")}
        return {**rows, **self.own.images} if self.own else rows

    @cached_property
    def releases(self) -> dict[str, dict[str, Release]]:
        """Helm charts with their versions, by release set and component."""
        sets: dict[str, dict[str, Release]] = {}
        for row in typed(Release, "releases", "components"):
            sets.setdefault(row.set, {})[row.component] = row
        return sets

    @cached_property
    def chart_groups(self) -> dict[str, tuple[str, ...]]:
        """API groups by the name of the chart that installs their definitions or their controller."""
        return {
            release_set[component].chart: release.groups
            for release_set in self.releases.values()
            for release in release_set.values()
            if release.groups
            for component in (release.component, release.crds_from or release.component)
        }

    @cached_property
    def null_fields(self) -> dict[str, tuple[NullField, ...]]:
        """Fields that a chart renders as null if a Helm value is empty, by component."""
        fields: dict[str, list[NullField]] = {}
        for row in typed(NullField, "nulls", "nulls"):
            fields.setdefault(row.component, []).append(row)
        return {component: tuple(rows) for component, rows in fields.items()}

    @cached_property
    def operands(self) -> dict[str, dict[str, Operand]]:
        """Operand images of the GPU Operator by operator version and path in the ClusterPolicy."""
        versions: dict[str, dict[str, Operand]] = {}
        for row in typed(Operand, "releases", "operands"):
            versions.setdefault(row.operator, {})[row.operand] = row
        return versions

    @cached_property
    def daemonsets(self) -> tuple[Daemonset, ...]:
        """DaemonSets that run on nodes, sorted by name."""
        rows = {row.name: row for row in typed(Daemonset, "releases", "daemonsets")}
        own = self.own.daemonsets if self.own else {}
        return tuple(row for _, row in sorted({**rows, **own}.items()))

    def daemonsets_of(self, components: Iterable[str]) -> list[Daemonset]:
        """Returns the DaemonSets of EKS, of the fleet and of components, sorted by name."""
        installed = {EKS, FLEET, *components}
        return [row for row in self.daemonsets if row.component in installed]

    @cached_property
    def eks_registries(self) -> dict[str, EksRegistry]:
        """Image registries of EKS add-ons by region."""
        return {row.region: row for row in typed(EksRegistry, "registries", "eks")}

    @cached_property
    def kubernetes(self) -> dict[str, KubernetesVersion]:
        """Kubernetes versions with their component requirements, by version."""
        from gpuc.catalog.operations import KubernetesVersion

        return {row.version: row for row in typed(KubernetesVersion, "versions", "kubernetes")}

    @cached_property
    def datapaths(self) -> dict[str, dict[str, DatapathFact]]:
        """What the network policy engines match, by engine and subject."""
        from gpuc.catalog.operations import DatapathFact

        engines: dict[str, dict[str, DatapathFact]] = {}
        for row in typed(DatapathFact, "datapaths", "datapaths"):
            engines.setdefault(row.engine, {})[row.subject] = row
        return engines

    @cached_property
    def nccl(self) -> Nccl:
        """Variables of NCCL and of the EFA plugin, recommended and harmful settings, and requests of pods with EFA."""
        from gpuc.catalog.operations import EfaPod, Nccl, NcclVariable, NcclVerdict

        return Nccl(
            verdicts=tuple(typed(NcclVerdict, "nccl", "verdicts")),
            variables={row.name: row for row in typed(NcclVariable, "nccl", "variables")},
            pod=typed(EfaPod, "nccl", "pod")[0],
        )

    @cached_property
    def xids(self) -> dict[int, Xid]:
        """XID error codes of the GPU driver by number."""
        from gpuc.catalog.operations import Xid

        return {row.xid: row for row in typed(Xid, "xids", "xids")}

    @cached_property
    def dcgm_metrics(self) -> dict[str, DcgmMetric]:
        """Fields of the DCGM exporter by name."""
        from gpuc.catalog.operations import DcgmMetric

        return {row.name: row for row in typed(DcgmMetric, "dcgm", "metrics")}

    @cached_property
    def time_zones(self) -> dict[str, TimeZone]:
        """Time zones with their offsets from UTC, by name."""
        from gpuc.catalog.operations import TimeZone

        return {row.name: row for row in typed(TimeZone, "time_zones", "zones")}

    @cached_property
    def kubelet(self) -> Kubelet:
        """Resources that the virtual machine, the kubelet and the system reserve on a node."""
        from gpuc.catalog.operations import Kubelet

        (kubelet,) = typed(Kubelet, "kubelet", "kubelet")
        return kubelet


@cache
def load() -> Catalog:
    """Returns the catalog of gpuc, without rows of a fleet. All calls return the same object."""
    return Catalog()

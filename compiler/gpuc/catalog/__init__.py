"""The catalog of facts about AWS, NVIDIA and the components. `load()` returns the catalog."""

from __future__ import annotations

from functools import cache, cached_property
from typing import TYPE_CHECKING

from gpuc.catalog.records import (
    Daemonset,
    EksRegistry,
    Gpu,
    Image,
    InstanceType,
    MigProfile,
    MigProfileSet,
    NullField,
    Operand,
    Release,
    UnsupportedInstance,
)
from gpuc.catalog.rows import typed

if TYPE_CHECKING:
    from gpuc.catalog.operations import DatapathFact, DcgmMetric, Kubelet, KubernetesVersion, Nccl, TimeZone, Xid


class Catalog:
    """The tables of facts about AWS, NVIDIA and the components. A table is read from its JSON file at the first use."""

    @cached_property
    def instances(self) -> dict[str, InstanceType]:
        """EC2 instance types by name."""
        return {row.type: row for row in typed(InstanceType, "instances", "instances")}

    @cached_property
    def unsupported_instances(self) -> dict[str, UnsupportedInstance]:
        """EC2 instance types that pools cannot use, by name."""
        return {row.type: row for row in typed(UnsupportedInstance, "instances", "unsupported")}

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
        return {row.id: row for row in typed(Image, "images", "images")}

    @cached_property
    def releases(self) -> dict[str, dict[str, Release]]:
        """Helm charts with their versions, by release set and component."""
        sets: dict[str, dict[str, Release]] = {}
        for row in typed(Release, "releases", "components"):
            sets.setdefault(row.set, {})[row.component] = row
        return sets

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
        return tuple(typed(Daemonset, "releases", "daemonsets"))

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
    """Returns the catalog. All calls return the same object."""
    return Catalog()

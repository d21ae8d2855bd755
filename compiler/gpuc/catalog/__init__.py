"""Facts as rows: `load()` gives the catalog, whose tables are read when they are first asked for."""

from __future__ import annotations

from functools import cache, cached_property
from typing import TYPE_CHECKING

from gpuc.catalog.records import (
    Daemonset,
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
    from gpuc.catalog.operations import DcgmMetric, Kubelet, KubernetesVersion, Nccl, Xid


class Catalog:
    """The tables, each read and typed once, when it is first asked for."""

    @cached_property
    def instances(self) -> dict[str, InstanceType]:
        """EC2 instance type by its name."""
        return {row.type: row for row in typed(InstanceType, "instances", "instances")}

    @cached_property
    def unsupported_instances(self) -> dict[str, UnsupportedInstance]:
        """EC2 instance type that cannot be used, by its name."""
        return {row.type: row for row in typed(UnsupportedInstance, "instances", "unsupported")}

    @cached_property
    def gpus(self) -> dict[str, Gpu]:
        """GPU by id."""
        return {row.id: row for row in typed(Gpu, "gpus", "gpus")}

    @cached_property
    def profile_sets(self) -> dict[str, MigProfileSet]:
        """MIG profiles by GPU id; a GPU without MIG has none."""
        sets = typed(MigProfileSet, "mig", "sets")
        by_id = {row.id: row for row in sets}
        for profile in typed(MigProfile, "mig", "profiles"):
            by_id[profile.set].profiles[profile.profile] = profile
        return {gpu: row for row in sets for gpu in row.gpus}

    @cached_property
    def images(self) -> dict[str, Image]:
        """Family of node images by id: al2, al2023, bottlerocket, ubuntu."""
        return {row.id: row for row in typed(Image, "images", "images")}

    @cached_property
    def releases(self) -> dict[str, dict[str, Release]]:
        """Release by the component's name, by release set."""
        sets: dict[str, dict[str, Release]] = {}
        for row in typed(Release, "releases", "components"):
            sets.setdefault(row.set, {})[row.component] = row
        return sets

    @cached_property
    def null_fields(self) -> dict[str, tuple[NullField, ...]]:
        """Fields that a chart renders as null where a value is empty, by component."""
        found: dict[str, list[NullField]] = {}
        for row in typed(NullField, "nulls", "nulls"):
            found.setdefault(row.component, []).append(row)
        return {component: tuple(rows) for component, rows in found.items()}

    @cached_property
    def operands(self) -> dict[str, dict[str, Operand]]:
        """Image of the GPU Operator's operand by its place in the ClusterPolicy, by the operator's version."""
        versions: dict[str, dict[str, Operand]] = {}
        for row in typed(Operand, "releases", "operands"):
            versions.setdefault(row.operator, {})[row.operand] = row
        return versions

    @cached_property
    def daemonsets(self) -> tuple[Daemonset, ...]:
        """What lands on nodes beside the pods of tenants, by name."""
        return tuple(typed(Daemonset, "releases", "daemonsets"))

    @cached_property
    def kubernetes(self) -> dict[str, KubernetesVersion]:
        """What goes with a Kubernetes version, by version."""
        from gpuc.catalog.operations import KubernetesVersion

        return {row.version: row for row in typed(KubernetesVersion, "versions", "kubernetes")}

    @cached_property
    def nccl(self) -> Nccl:
        """Variables of NCCL and of its EFA plugin, verdicts on settings, and what a pod on EFA asks for."""
        from gpuc.catalog.operations import EfaPod, Nccl, NcclVariable, NcclVerdict

        return Nccl(
            verdicts=tuple(typed(NcclVerdict, "nccl", "verdicts")),
            variables={row.name: row for row in typed(NcclVariable, "nccl", "variables")},
            pod=typed(EfaPod, "nccl", "pod")[0],
        )

    @cached_property
    def xids(self) -> dict[int, Xid]:
        """Error code of the GPU driver by number."""
        from gpuc.catalog.operations import Xid

        return {row.xid: row for row in typed(Xid, "xids", "xids")}

    @cached_property
    def dcgm_metrics(self) -> dict[str, DcgmMetric]:
        """Field of the DCGM exporter by name."""
        from gpuc.catalog.operations import DcgmMetric

        return {row.name: row for row in typed(DcgmMetric, "dcgm", "metrics")}

    @cached_property
    def kubelet(self) -> Kubelet:
        """What a node keeps for itself."""
        from gpuc.catalog.operations import Kubelet

        (kubelet,) = typed(Kubelet, "kubelet", "kubelet")
        return kubelet


@cache
def load() -> Catalog:
    """The catalog of this installation, one per process."""
    return Catalog()

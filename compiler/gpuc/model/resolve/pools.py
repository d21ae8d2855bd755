"""Pools: instance types to hardware, layouts to instances, images to who owns the driver."""

from __future__ import annotations

from gpuc.catalog import Catalog
from gpuc.catalog.records import Daemonset, Image, InstanceType, MigProfileSet, Release
from gpuc.diagnostics.finding import Finding, Path, Severity, declare_rule
from gpuc.model.cluster import SPEC
from gpuc.model.gpu_pool import GpuPool
from gpuc.model.layout import place
from gpuc.model.pool import Pool
from gpuc.model.resolve.names import unknown
from gpuc.model.sharing import LayoutError, Sharing, layouts_by_gpu
from gpuc.spec.cluster import Spec
from gpuc.spec.pools import Image as ImageSpec
from gpuc.spec.pools import Pool as PoolSpec

LAYOUT = declare_rule(
    "MIG001", Severity.ERROR, "A MIG layout does not exist on the pool's GPUs.",
    "The MIG manager sets the node to failed, or the node never joins: no GPU is advertised, and the node is paid for.",
    "NVIDIA MIG user guide r620, supported profiles and placements",
)  # fmt: skip
LAYOUT_GPUS = declare_rule(
    "MIG101", Severity.ERROR, "A layout by GPU number does not name each GPU of a node once.",
    "What a GPU without a layout would be is nobody's decision.",
)  # fmt: skip
HARDWARE = declare_rule(
    "KRP018", Severity.ERROR, "A pool's instance types do not go together, or with its purpose.",
    "Karpenter finds no instance type for the pod, or starts nodes that differ in what they offer.",
    "aws/karpenter-provider-aws issues 5703 and 7038; NVIDIA/mig-parted v0.15.0",
)  # fmt: skip
UNSUPPORTED = declare_rule(
    "KRP101", Severity.ERROR, "An instance type exists but cannot carry a pool.",
    "Its figures are not published, or it offers no whole GPU.",
)  # fmt: skip


NO_MIG = MigProfileSet("", (), 0, source=())
"""Of GPUs that cannot be cut."""


def resolve_pools(
    spec: Spec, components: dict[str, Release], catalog: Catalog, findings: list[Finding]
) -> dict[str, Pool]:
    """Pool by name; pools that cannot be resolved are left out and explained by a finding."""
    pools = {}
    for name, wanted in spec.pools.items():
        path = (*SPEC, "pools", name)
        pool = _pool(name, wanted, path, spec, components, catalog, findings)
        if pool is not None:
            pools[name] = pool
    return pools


def _pool(
    name: str, wanted: PoolSpec, path: Path, spec: Spec, components: dict[str, Release], catalog: Catalog,
    findings: list[Finding],
) -> Pool | None:  # fmt: skip
    before = len(findings)
    instances = _instances(wanted, path, catalog, findings)
    if not instances or len(findings) > before:
        return None
    findings.extend(_hardware_faults(wanted, instances, path))
    image, ami = _image(wanted.image or spec.cloud.aws.image, catalog)
    general = Pool(
        name=name,
        path=path,
        spec=wanted,
        instances=tuple({instance.type: instance for instance in instances}.values()),
        image=image,
        ami=ami,
        zones=tuple(wanted.zones or spec.cloud.aws.zones),
        dedicated_to=_dedicated_to(name, spec),
        network_policy_engine=spec.cloud.aws.network_policy_engine,
        daemonsets=_daemonsets(wanted, components, catalog),
        kubelet=catalog.kubelet,
    )
    if not instances[0].gpu:
        return general if len(findings) == before else None
    gpu = catalog.gpus[instances[0].gpu]
    profiles = catalog.profile_sets.get(gpu.id, NO_MIG)
    sharing = _sharing(wanted, path, instances, profiles, findings)
    if sharing is None or len(findings) > before:
        return None
    return GpuPool(**{**vars(general), "sharing": sharing}, gpu=gpu, profiles=profiles)


def _instances(wanted: PoolSpec, path: Path, catalog: Catalog, findings: list[Finding]) -> tuple[InstanceType, ...]:
    found = []
    for index, name in enumerate(wanted.instances):
        where = (*path, "instances", index)
        if name in catalog.unsupported_instances:
            findings.append(
                UNSUPPORTED.at(where, f"{name} cannot carry a pool: {catalog.unsupported_instances[name].reason}")
            )
        elif name not in catalog.instances:
            findings.append(unknown("instance type", name, catalog.instances, where))
        elif catalog.instances[name].gpu and not catalog.instances[name].gpu_count:
            findings.append(UNSUPPORTED.at(where, f"{name} has a part of a GPU, which Karpenter counts as none"))
        else:
            found.append(catalog.instances[name])
    return tuple(found)


def _hardware_faults(wanted: PoolSpec, instances: tuple[InstanceType, ...], path: Path) -> list[Finding]:
    """Types that differ in GPU, architecture or slices, and purposes that do not fit them."""
    first, *others = instances
    faults = []
    for index, other in enumerate(others, 1):
        where = (*path, "instances", index)
        if other.gpu != first.gpu:
            has = [f"{one.type} has {one.gpu or 'no GPU'}" for one in (other, first)]
            message = f"{has[0]}, {has[1]}; a pool has one GPU"
            faults.append(HARDWARE.at(where, message))
        elif other.arch != first.arch:
            faults.append(HARDWARE.at(where, f"{other.type} is {other.arch}, {first.type} is {first.arch}"))
        elif wanted.sharing and wanted.sharing.mig and wanted.sharing.mig.gpus and other.gpu_count != first.gpu_count:
            message = (
                f"{other.type} has {other.gpu_count} GPUs, {first.type} {first.gpu_count}; the layout is by GPU number"
            )
            faults.append(HARDWARE.at(where, message))
    general = wanted.purpose == "general"
    if general and first.gpu:
        faults.append(HARDWARE.at((*path, "purpose"), f"purpose is general, but {first.type} has GPUs"))
    elif not general and not first.gpu:
        faults.append(HARDWARE.at((*path, "purpose"), f"purpose is {wanted.purpose}, but {first.type} has no GPU"))
    if general and wanted.sharing:
        faults.append(HARDWARE.at((*path, "sharing"), "a general pool has no GPUs to share"))
    elif not general and first.gpu and not wanted.sharing:
        message = "sharing is missing; write exclusive, mig, timeSlicing or mps"
        faults.append(HARDWARE.at(path, message))
    return faults


def _sharing(
    wanted: PoolSpec, path: Path, instances: tuple[InstanceType, ...], profiles: MigProfileSet,
    findings: list[Finding],
) -> Sharing | None:  # fmt: skip
    spec = wanted.sharing
    if spec is None:
        return None
    if spec.time_slicing:
        return Sharing("timeSlicing", replicas=spec.time_slicing.replicas)
    if spec.mps:
        return Sharing("mps", replicas=spec.mps.replicas)
    if not spec.mig:
        return Sharing("exclusive")
    mig_path = (*path, "sharing", "mig")
    if not profiles.placement_units:
        findings.append(LAYOUT.at(mig_path, f"{instances[0].type} has {instances[0].gpu}, which has no MIG"))
        return None
    try:
        layouts = layouts_by_gpu(spec.mig, instances[0].gpu_count)
    except LayoutError as error:
        findings.append(LAYOUT_GPUS.at((*mig_path, *error.path), f"{error}"))
        return None
    findings.extend(_layout_faults(spec.mig.every, mig_path, profiles) if spec.mig.every else [])
    for index, group in enumerate(spec.mig.gpus or []):
        findings.extend(
            _layout_faults(group.layout, (*mig_path, "gpus", index), profiles, "layout") if group.layout else []
        )
    return Sharing("mig", strategy=spec.mig.strategy, layouts=layouts)


def _layout_faults(layout: dict[str, int], path: Path, profiles: MigProfileSet, key: str = "every") -> list[Finding]:
    where = (*path, key)
    strange = [name for name in layout if name not in profiles.profiles]
    if strange:
        return [
            LAYOUT.at(
                (*where, name),
                f"{profiles.gpus[0]} has no profile {name}; it has {', '.join(profiles.profiles)}",
                on_key=True,
            )
            for name in strange
        ]
    for marker in ("me", "me.all"):
        extended = sum(count for name, count in layout.items() if profiles.profiles[name].media == marker)
        if extended > 1:
            return [LAYOUT.at(where, f"{extended} instances with +{marker}; a GPU has the media engines once")]
    if place(layout, profiles) is None:
        wish = ", ".join(f"{count} x {name}" for name, count in layout.items())
        return [
            LAYOUT.at(
                where,
                f"{wish} cannot be placed on one {profiles.gpus[0]}, which has {profiles.placement_units} places",
            )
        ]
    return []


def _image(wanted: ImageSpec, catalog: Catalog) -> tuple[Image, str]:
    if wanted.alias:
        return catalog.images[wanted.alias.split("@")[0]], wanted.alias
    assert wanted.family is not None and wanted.id is not None, "the spec model lets nothing else through"
    return catalog.images[wanted.family.lower()], wanted.id


def _dedicated_to(pool: str, spec: Spec) -> str:
    """The first dedicated tenant whose queues name the pool; others that do are a finding of the rules."""
    for queue in spec.queues.values():
        if pool in queue.quota:
            for name in queue.tenants:
                tenant = spec.tenants.get(name)
                if tenant and tenant.isolation == "dedicated":
                    return name
    return ""


def _daemonsets(wanted: PoolSpec, components: dict[str, Release], catalog: Catalog) -> tuple[Daemonset, ...]:
    kinds = {"all"}
    if wanted.purpose != "general":
        kinds.add("gpu")
    if wanted.fabric == "efa":
        kinds.add("efa")
    return tuple(
        row
        for row in catalog.daemonsets
        if row.nodes in kinds and (row.component == "eks" or row.component in components)
    )

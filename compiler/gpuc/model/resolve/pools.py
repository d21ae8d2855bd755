"""Converts the pools of a spec into pools of the model: instance types, MIG layouts, images and DaemonSets."""

from collections.abc import Iterator

from msgspec.structs import asdict

from gpuc.catalog import Catalog
from gpuc.catalog.records import NODE_AGENT, Daemonset, InstanceType, MigProfileSet, Release
from gpuc.diagnostics.finding import Finding, Path, Related
from gpuc.diagnostics.unknown import none_if_unknown
from gpuc.kubernetes.amounts import MIB
from gpuc.model.cluster import SPEC
from gpuc.model.gpu_pool import GpuPool
from gpuc.model.layout import place, why_impossible
from gpuc.model.pool import Pool
from gpuc.model.resolve.instances import resolve_instances
from gpuc.model.resolve.names import rule_of
from gpuc.model.sharing import LayoutError, Sharing, layouts_by_gpu
from gpuc.model.substrate import substrate_of
from gpuc.spec.cluster import Spec
from gpuc.spec.pools import Pool as PoolSpec

LAYOUT = rule_of("MIG001")
LAYOUT_GPUS = rule_of("MIG101")
HARDWARE = rule_of("KRP018")


NO_MIG = MigProfileSet("", (), 0, source=())
"""The empty profile set, for GPUs that do not support MIG."""


def resolve_pools(
    spec: Spec, components: dict[str, Release], catalog: Catalog, findings: list[Finding]
) -> dict[str, Pool]:
    """Returns the pools of the spec by name. For a pool with a mistake, adds a finding to `findings` instead."""
    pools = {}
    for name, pool_spec in spec.pools.items():
        path = (*SPEC, "pools", name)
        pool = _pool(name, pool_spec, path, spec, components, catalog, findings)
        if pool is not None:
            pools[name] = pool
    return pools


@none_if_unknown
def _pool(
    name: str, pool_spec: PoolSpec, path: Path, spec: Spec, components: dict[str, Release], catalog: Catalog,
    findings: list[Finding],
) -> Pool | None:  # fmt: skip
    count_before = len(findings)
    substrate = substrate_of(spec)
    instances = resolve_instances(pool_spec, path, substrate, catalog, findings)
    if not instances or len(findings) > count_before:
        return None
    findings += [*_hardware_findings(pool_spec, instances, path)]
    types = tuple({instance.type: instance for instance in instances}.values())
    nodes = substrate.nodes(spec, name, pool_spec, types, catalog)
    general = Pool(
        name=name,
        path=path,
        spec=pool_spec,
        instances=types,
        dedicated_to=_dedicated_to(name, spec),
        network_policy_engine=spec.network.policy_engine,
        daemonsets=_daemonsets(spec, pool_spec, components, catalog),
        **asdict(nodes),
    )
    if not instances[0].gpu:
        return general if len(findings) == count_before else None
    gpu = catalog.gpus[instances[0].gpu]
    profiles = catalog.profile_sets.get(gpu.id, NO_MIG)
    sharing = _sharing(pool_spec, path, instances, profiles, findings)
    if sharing is None or len(findings) > count_before:
        return None
    return GpuPool(**{**asdict(general), "sharing": sharing}, gpu=gpu, profiles=profiles)


def _hardware_findings(pool_spec: PoolSpec, instances: tuple[InstanceType, ...], path: Path) -> Iterator[Finding]:
    """Yields findings about the hardware of a pool.

    The instance types may differ from each other, or may not match the purpose or the sharing of the pool.
    """
    first, *others = instances
    first_type = Related(first.type, (*path, "instances", 0))
    mig = pool_spec.sharing.mig if pool_spec.sharing else None
    for index, other in enumerate(others, 1):
        if other.gpu != first.gpu:
            actual = f"{other.type} has GPU {other.gpu or 'none'}, but {first.type} has GPU {first.gpu or 'none'}"
            message = f"{actual}; expected types with the same GPU"
        elif other.arch != first.arch:
            message = f"{other.type} is {other.arch}, but {first.type} is {first.arch}; expected one architecture"
        elif mig and mig.gpus and other.gpu_count != first.gpu_count:
            counts = f"{other.type} has {other.gpu_count} GPUs, but {first.type} has {first.gpu_count}"
            message = f"{counts}; MIG layouts by GPU number need types with equal numbers of GPUs"
        else:
            continue
        yield HARDWARE.at((*path, "instances", index), message, related=[first_type])
    general = pool_spec.purpose == "general"
    if general == bool(first.gpu):
        message = f"purpose is {pool_spec.purpose}, but {first.type} has {'GPUs' if general else 'no GPU'}"
        yield HARDWARE.at((*path, "purpose"), message, related=[first_type])
    if general and pool_spec.sharing:
        message = "sharing is not allowed in a node pool with purpose general, which has no GPUs"
        related = [Related("purpose is general", (*path, "purpose"))]
        yield HARDWARE.at((*path, "sharing"), message, related=related)
    if pool_spec.shared and first.gpu:
        message = f"shared is true, but {first.type} has GPUs; expected a node pool without GPUs"
        yield HARDWARE.at((*path, "shared"), message, fix="remove shared", related=[first_type])
    if not general and first.gpu and not pool_spec.sharing:
        message = "the node pool has GPUs, but no key sharing; expected sharing exclusive, mig, timeSlicing or mps"
        yield HARDWARE.at(path, message)


def _sharing(
    pool_spec: PoolSpec, path: Path, instances: tuple[InstanceType, ...], profiles: MigProfileSet,
    findings: list[Finding],
) -> Sharing | None:  # fmt: skip
    spec = pool_spec.sharing
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
        actual = f"{instances[0].type} has GPU {instances[0].gpu}, which does not support MIG"
        message = f"{actual}; expected sharing exclusive, timeSlicing or mps"
        related = [Related(instances[0].type, (*path, "instances", 0))]
        findings.append(LAYOUT.at(mig_path, message, related=related))
        return None
    try:
        layouts = layouts_by_gpu(spec.mig, instances[0].gpu_count)
    except LayoutError as error:
        findings.append(LAYOUT_GPUS.at((*mig_path, *error.path), f"{error}"))
        return None
    findings += [*_layout_findings(spec.mig.every or {}, (*mig_path, "every"), profiles)]
    for index, group in enumerate(spec.mig.gpus or []):
        findings += [*_layout_findings(group.layout or {}, (*mig_path, "gpus", index, "layout"), profiles)]
    return Sharing("mig", strategy=spec.mig.strategy, layouts=layouts)


def _layout_findings(layout: dict[str, int], path: Path, profiles: MigProfileSet) -> Iterator[Finding]:
    """Yields the findings about the layout of a GPU; an empty layout has none."""
    if unknown_profiles := [name for name in layout if name not in profiles.profiles]:
        for name in unknown_profiles:
            message = f"GPU {profiles.gpus[0]} has no MIG profile {name}"
            yield LAYOUT.at((*path, name), f"{message}; expected one of {', '.join(profiles.profiles)}", on_key=True)
        return
    for marker in ("me", "me.all"):
        extended = sum(count for name, count in layout.items() if profiles.profiles[name].media == marker)
        if extended > 1:
            message = f"the layout has {extended} instances with +{marker}, for media engines; expected at most one"
            yield LAYOUT.at(path, message)
            return
    if place(layout, profiles) is None:
        yield LAYOUT.at(path, why_impossible(layout, profiles))


def _dedicated_to(pool: str, spec: Spec) -> str:
    """Returns the name of the first dedicated tenant with quota of the pool; empty if there is none.

    A shared pool is dedicated to no tenant. Rules report other tenants that use a dedicated pool.
    """
    if spec.pools[pool].shared:
        return ""
    users = [name for queue in spec.queues.values() if pool in queue.quota for name in queue.tenants]
    users += [
        name
        for name, tenant in spec.tenants.items()
        if any(pool in namespace.quota for namespace in tenant.namespaces.values())
    ]
    dedicated = [name for name in users if name in spec.tenants and spec.tenants[name].isolation == "dedicated"]
    return dedicated[0] if dedicated else ""


def _daemonsets(
    spec: Spec, pool_spec: PoolSpec, components: dict[str, Release], catalog: Catalog
) -> tuple[Daemonset, ...]:
    """Returns the DaemonSets on the nodes of a pool: DaemonSets of the substrate, of the components and of the spec."""
    # Memory is rounded up to MiB, as the request of a DaemonSet in the catalog.
    declared = [
        Daemonset(name, NODE_AGENT, agent.nodes, int(agent.cpu.removesuffix("m")), -(-agent.memory // MIB), ())
        for name, agent in spec.node_agents.items()
    ]
    has_gpus, has_efa = pool_spec.purpose != "general", pool_spec.fabric == "efa"
    rows = (*catalog.daemonsets_of([*components, spec.cloud.substrate.folder]), *declared)
    return tuple(row for row in rows if row.runs_on(has_gpus=has_gpus, has_efa=has_efa))

import re
from typing import Any, NamedTuple

from msgspec import Struct, field

from gpuc.cluster.index import Index
from gpuc.cluster.pool import Pool
from gpuc.cluster.pool_fields import REQUIREMENTS
from gpuc.kubernetes.amounts import CPU, EPHEMERAL_STORAGE, MEMORY, PODS
from gpuc.kubernetes.node_pool import INSTANCE_TYPE
from gpuc.lint.checks import Findings, check, rule_of
from gpuc.lint.checks.references.gpu_configs import (
    DEVICE_PLUGIN,
    MIG_MANAGER,
    SHARED,
    Configurations,
    configurations,
    operators,
)
from gpuc.manifest.manifest import Manifest
from gpuc.model.names import GPU
from gpuc.objects.embedded import document
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import ObjectSet, dig, items, pairs
from gpuc.trace.node_capacity import DEVICES_OF_PROVIDER

PARTIAL_OVERLAY = rule_of("REF053")
WRONG_DEVICES = rule_of("REF054")
_SET_BY_PROVIDER = (*DEVICES_OF_PROVIDER, CPU, MEMORY, EPHEMERAL_STORAGE, PODS)
"""Resources that Karpenter's provider sets itself (karpenter-provider-aws v1.14.1, pkg/providers/instancetype)."""
_MIG = re.compile(r"nvidia\.com/mig-(?:\d+c\.)?(\d)g\.\d+gb(?:\.[a-z.+-]+)?")
_AMOUNT = re.compile("(?!0+$)[0-9]{1,18}")
"""An amount above zero."""
_SLICES = 7
"""Compute slices of one GPU; the first number of a MIG profile is the number of its compute slices."""


class Declared(Struct):
    """The resources that NodeOverlays of Karpenter declare for one instance type of a pool."""

    has: set[str] = field(default_factory=set)
    """Resources with an amount above zero."""
    zero: dict[str, Manifest] = field(default_factory=dict)
    """The first overlay that sets a resource to zero, by resource."""


@check(PARTIAL_OVERLAY)
def partial_overlays(objects: ObjectSet) -> Findings:
    """Yields findings about NodeOverlays that declare a resource for only some instance types of a pool."""
    index = objects.once(Index)
    if not index.tree.has("karpenter.sh", "NodeOverlay"):
        return
    for pool in index.nodes.pools:
        declared = {name: _declared(pool, name) for name in pool.listed_types}
        for resource in sorted(set().union(*(resources.has for resources in declared.values()))):
            without = [name for name, resources in declared.items() if _lacks(resources, resource)]
            if without and len(without) < len(declared):
                yield from _partial(pool, resource, without, declared)


def _declared(pool: Pool, name: str) -> Declared:
    """Returns the resources of an instance type. The first overlay that certainly applies decides about a resource."""
    declared = Declared()
    decided: set[str] = set()
    for overlay in reversed(pool.overlays(name)):
        for resource, amount in overlay.capacity.items():
            if resource in decided:
                continue
            if str(amount).strip() in ("0", ""):
                declared.zero.setdefault(resource, overlay.manifest)
            else:
                declared.has.add(resource)
        decided.update(overlay.capacity if overlay.is_sure else ())
    return declared


def _partial(pool: Pool, resource: str, without: list[str], declared: dict[str, Declared]) -> Findings:
    having = [name for name, resources in declared.items() if resource in resources.has]
    given = f"{resource} to instance type {', '.join(having)} of NodePool {pool.name}, but not to {', '.join(without)}"
    message = f"overlays give {given}, which Karpenter does not start for pods that request the resource"
    zero = [name for name in without if resource in declared[name].zero]
    for name in zero:
        yield ObjectFinding(PARTIAL_OVERLAY, declared[name].zero[resource], ("spec", "capacity", resource), message)
    if len(zero) < len(without):
        listing = (row.position for row in pool.requirements if row.key == INSTANCE_TYPE)
        path = next(((*REQUIREMENTS, position, "values") for position in listing), REQUIREMENTS)
        yield ObjectFinding(PARTIAL_OVERLAY, pool.manifest, path, message)


def _lacks(declared: Declared, resource: str) -> bool:
    """Returns whether an instance type lacks a resource and has no other device of the same vendor."""
    if resource in declared.has or (resource in _SET_BY_PROVIDER and resource not in declared.zero):
        return False
    vendor, _, name = resource.partition("/")
    return not name or not any(other.startswith(f"{vendor}/") for other in declared.has)


class Sharing(NamedTuple):
    """The resources that the device plugin advertises for the GPUs of a node with one configuration."""

    name: str
    strategy: str
    """The MIG strategy: none, single or mixed."""
    replicas: dict[str, int]
    """The number of replicas of every shared resource."""
    renames: bool
    """Whether shared resources get the suffix .shared."""
    layout: Any
    """The MIG layout of the MIG manager: groups of GPUs and their MIG devices; None if unknown."""

    def limit(self, resource: str, gpus: int) -> tuple[int, bool] | None:
        """Returns the maximum of a resource on a node with `gpus` GPUs, and whether it is exact; None if unknown."""
        base = resource.removesuffix(SHARED)
        times = self.replicas.get(base, 1)
        if (base in self.replicas and self.renames) is not (base != resource):
            return 0, True
        if (slice_ := _MIG.fullmatch(base)) is not None:
            if self.strategy != "mixed":
                return 0, True
            count = _created(self.layout, base, gpus)
            most = gpus * (_SLICES // max(int(slice_[1]), 1))
            return (most * times, False) if count is None else (count * times, True)
        if base != GPU or self.strategy == "single":
            return None
        count = _created(self.layout, base, gpus) if self.strategy == "mixed" else gpus
        return (gpus * times, False) if count is None else (count * times, True)


@check(WRONG_DEVICES)
def wrong_devices(objects: ObjectSet) -> Findings:
    """Yields findings about devices that NodeOverlays declare, but that the nodes of the pool do not have.

    The function does not check nodes if their GPUs, or their configuration of the device plugin, are unknown.
    """
    index = objects.once(Index)
    settings = [values for values, _ in operators(index)] if index.tree.has("karpenter.sh", "NodeOverlay") else []
    known = list(configurations(index)) if len(settings) == 1 else []
    plugin = next((configs for configs in known if configs.part == DEVICE_PLUGIN), None)
    layouts = next((configs for configs in known if configs.part == MIG_MANAGER), None)
    if len(settings) != 1 or (plugin is None and dig(settings[0], DEVICE_PLUGIN, "config")):
        return
    strategy = dig(settings[0], "mig", "strategy")
    documents = {name: document(index.tree, text) for name, text in plugin.texts.items()} if plugin else {"": {}}
    for pool in index.nodes.pools:
        name = _selected(pool, plugin) if plugin else ""
        layout = layouts.texts.get(_selected(pool, layouts)) if layouts else None
        sharing = _sharing(name, documents.get(name), strategy, layout)
        if sharing is not None:
            yield from _pool(pool, sharing)


def _pool(pool: Pool, sharing: Sharing) -> Findings:
    for name in pool.listed_types:
        instance = pool.catalog.instances.get(name)
        if instance is None or not instance.gpu or not instance.gpu_count:
            continue
        effective = {resource: overlay for overlay in pool.overlays(name) for resource in overlay.capacity}
        for resource, overlay in effective.items():
            amount, limit = overlay.capacity[resource], sharing.limit(resource, instance.gpu_count)
            if limit is None or not _AMOUNT.fullmatch(str(amount)) or not overlay.is_sure:
                continue
            maximum, is_exact = limit
            if int(amount) > maximum or (is_exact and int(amount) != maximum):
                source = f"the device plugin's configuration {sharing.name}" if sharing.name else "the device plugin"
                bound = f"{'' if is_exact else 'at most '}{maximum} from {instance.gpu_count} GPUs"
                message = f"the overlay gives nodes of type {name} in NodePool {pool.name} {amount} {resource}, but "
                message += f"{source} creates {bound}"
                yield ObjectFinding(WRONG_DEVICES, overlay.manifest, ("spec", "capacity", resource), message)


def _selected(pool: Pool, configs: Configurations) -> str:
    """Returns the name of the configuration for a pool's nodes."""
    return pool.labels.get(configs.label) or configs.default


def _sharing(name: str, document: Any, strategy: Any, layout: Any) -> Sharing | None:
    """Returns the devices of a configuration; None if the configuration renames devices or is not fully known.

    Args:
        strategy: the MIG strategy of the operator, which overrides the strategy of the configuration.
    """
    strategy = strategy or dig(document, "flags", "migStrategy")
    if not isinstance(document, dict) or not isinstance(strategy, str) or "resources" in document:
        return None
    shared = dig(document, "sharing", "timeSlicing") or dig(document, "sharing", "mps")
    replicas: dict[str, int] = {}
    for _, row in items(dig(shared, "resources")):
        resource, count = dig(row, "name"), dig(row, "replicas")
        if not isinstance(resource, str) or not isinstance(count, int) or dig(row, "rename") or dig(row, "devices"):
            return None
        replicas[resource] = count
    return Sharing(name, strategy, replicas, dig(shared, "renameByDefault") is True, layout)


def _created(layout: Any, resource: str, gpus: int) -> int | None:
    """Returns the number of devices of a resource that a MIG layout creates on a node with some GPUs; else None."""
    if not isinstance(layout, list) or not layout:
        return None
    total = 0
    for _, group in items(layout):
        devices, is_mig = dig(group, "devices"), dig(group, "mig-enabled")
        if dig(group, "device-filter") or not (devices == "all" or isinstance(devices, list)):
            return None
        count = gpus if devices == "all" else len(devices)
        if not is_mig:
            total += count if resource == GPU else 0
            continue
        for profile, number in pairs(dig(group, "mig-devices")):
            is_wanted = f"nvidia.com/mig-{str(profile).replace('+', '.')}" == resource
            total += count * number if is_wanted and isinstance(number, int) else 0
    return total

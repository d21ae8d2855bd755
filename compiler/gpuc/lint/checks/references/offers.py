"""Devices that node overlays promise, against what the device plugin makes of the GPUs of these nodes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from gpuc.diagnostics.finding import Severity, declare_rule
from gpuc.kubernetes.overlay import capacity
from gpuc.lint.checks.references.gpu_configs import DEVICE_PLUGIN, MIG_MANAGER, Choice, choices, operators
from gpuc.lint.checks.references.overlays import types_of
from gpuc.objects.embedded import document
from gpuc.objects.index import Index
from gpuc.objects.node_pools import Pool
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import dig, items, pairs
from gpuc.trace.instance_capacity import instance_labels

NEVER_THERE = declare_rule(
    "REF054",
    Severity.ERROR,
    "A node overlay promises devices that the device plugin's configuration does not make of the node's GPUs.",
    "Karpenter counts on them: it starts too few nodes, or nodes for work that then stays Pending on them.",
    "k8s-device-plugin v0.20.0, README.md (Shared Access to GPUs, migStrategy)",
)
_GPU = "nvidia.com/gpu"
_SHARED = ".shared"
_MIG = re.compile(r"nvidia\.com/mig-(?:\d+c\.)?(\d)g\.\d+gb(?:\.[a-z.+-]+)?")
_MOST_DIGITS = 18
_SLICES = 7
"""Of one GPU: compute slices, of which a MIG profile's first figure says how many it takes."""


class Sharing(NamedTuple):
    """What a configuration of the device plugin makes of GPUs."""

    name: str
    strategy: str
    """For MIG: none, single or mixed."""
    replicas: dict[str, int]
    """By resource that is shared."""
    renames: bool
    layout: Any
    """Groups of GPUs with their MIG devices, as the MIG manager makes them; None where that is not known."""

    def limit(self, resource: str, gpus: int) -> tuple[int, bool] | None:
        """The most that a node with some GPUs has of a resource, and whether it has exactly so many; None: unknown."""
        base = resource.removesuffix(_SHARED)
        times = self.replicas.get(base, 1)
        if (base in self.replicas and self.renames) is not (base != resource):
            return 0, True
        if (slice_ := _MIG.fullmatch(base)) is not None:
            if self.strategy != "mixed":
                return 0, True
            made = _made(self.layout, base, gpus)
            return (gpus * (_SLICES // max(int(slice_[1]), 1)) * times, False) if made is None else (made * times, True)
        if base != _GPU or self.strategy == "single":
            return None
        whole = _made(self.layout, base, gpus) if self.strategy == "mixed" else gpus
        return (gpus * times, False) if whole is None else (whole * times, True)


def findings(index: Index) -> Iterator[ObjectFinding]:
    """Amounts of devices that no node of a pool has, where its configuration and its GPUs are known."""
    settings = [found for found, _ in operators(index)] if index.tree.has("karpenter.sh", "NodeOverlay") else []
    known = list(choices(index)) if len(settings) == 1 else []
    plugin = next((each for each in known if each.part == DEVICE_PLUGIN), None)
    layouts = next((each for each in known if each.part == MIG_MANAGER), None)
    if len(settings) != 1 or (plugin is None and dig(settings[0], DEVICE_PLUGIN, "config")):
        return
    strategy = dig(settings[0], "mig", "strategy")
    documents = {name: document(index.tree, text) for name, text in plugin.texts.items()} if plugin else {"": {}}
    for pool in index.nodes.pools:
        name = _chosen(pool, plugin) if plugin else ""
        layout = layouts.texts.get(_chosen(pool, layouts)) if layouts else None
        sharing = _sharing(name, documents.get(name), strategy, layout)
        if sharing is not None:
            yield from _pool(pool, sharing, index)


def _pool(pool: Pool, sharing: Sharing, index: Index) -> Iterator[ObjectFinding]:
    from gpuc.catalog import load

    for name in types_of(pool):
        instance = load().instances.get(name)
        if instance is None or not instance.gpu or not instance.gpu_count:
            continue
        given = index.overlays.of(pool, name, instance_labels(name))
        by_name = {overlay.value.name: overlay for overlay in given}
        for resource, counting in capacity(overlay.value for overlay in given).items():
            overlay = by_name[counting.name]
            amount, limit = counting.capacity[resource], sharing.limit(resource, instance.gpu_count)
            if limit is None or not _is_some(amount) or not overlay.is_sure:
                continue
            most, is_exact = limit
            if int(amount) > most or (is_exact and int(amount) != most):
                makes = f"makes {'' if is_exact else 'at most '}{most} of its GPUs ({instance.gpu_count})"
                who = f"the device plugin's configuration {sharing.name}" if sharing.name else "the device plugin"
                message = f"{amount} {resource} on {name}; {who} {makes}"
                yield ObjectFinding(
                    NEVER_THERE, overlay.manifest, ("spec", "capacity", resource), f"{message} in NodePool {pool.name}"
                )


def _chosen(pool: Pool, choice: Choice) -> str:
    """The configuration that a pool's nodes get."""
    return pool.labels.get(choice.label) or choice.default


def _sharing(name: str, document: Any, strategy: Any, layout: Any) -> Sharing | None:
    """What a configuration says; None where it gives devices names of its own, or does not say all.

    Args:
        strategy: of the operator, which the device plugin takes before that of its configuration.
    """
    strategy = strategy or dig(document, "flags", "migStrategy")
    if not isinstance(document, dict) or not isinstance(strategy, str) or "resources" in document:
        return None
    shared = dig(document, "sharing", "timeSlicing") or dig(document, "sharing", "mps")
    replicas: dict[str, int] = {}
    for _, each in items(dig(shared, "resources")):
        resource, count = dig(each, "name"), dig(each, "replicas")
        if not isinstance(resource, str) or not isinstance(count, int) or dig(each, "rename") or dig(each, "devices"):
            return None
        replicas[resource] = count
    return Sharing(name, strategy, replicas, dig(shared, "renameByDefault") is True, layout)


def _made(layout: Any, resource: str, gpus: int) -> int | None:
    """How many devices of a kind a layout makes of so many GPUs; None where it does not say."""
    if not isinstance(layout, list) or not layout:
        return None
    found = 0
    for _, each in items(layout):
        devices, sliced = dig(each, "devices"), dig(each, "mig-enabled")
        if dig(each, "device-filter") or not (devices == "all" or isinstance(devices, list)):
            return None
        count = gpus if devices == "all" else len(devices)
        if not sliced:
            found += count if resource == _GPU else 0
            continue
        for profile, number in pairs(dig(each, "mig-devices")):
            is_it = f"nvidia.com/mig-{str(profile).replace('+', '.')}" == resource
            found += count * number if is_it and isinstance(number, int) else 0
    return found


def _is_some(amount: Any) -> bool:
    text = str(amount)
    return text.isascii() and text.isdigit() and 0 < len(text) <= _MOST_DIGITS and int(text) > 0

"""Node overlays: what they give to the instance types of a node pool, and types of it that they leave out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from gpuc.diagnostics.finding import Path, Severity, declare_rule
from gpuc.kubernetes.node_pool import INSTANCE_TYPE
from gpuc.manifest.manifest import Manifest
from gpuc.objects.index import Index
from gpuc.objects.node_pools import Pool
from gpuc.objects.object_finding import ObjectFinding
from gpuc.trace.instance_capacity import instance_labels

LEFT_OUT = declare_rule(
    "REF053",
    Severity.WARNING,
    "Node overlays give a resource to some instance types of a node pool and not to others.",
    "Karpenter takes a node of the other types for one without the resource, and never starts one for work that asks "
    "for it, whatever their price and however few of the first there are.",
    "Karpenter v1.14.1, pkg/controllers/nodeoverlay",
)
_PROVIDER = "karpenter.k8s.aws/instance-"
_PROVIDERS_OWN = frozenset(
    (
        "amd.com/gpu",
        "aws.amazon.com/neuron",
        "aws.amazon.com/neuroncore",
        "cpu",
        "ephemeral-storage",
        "habana.ai/gaudi",
        "memory",
        "nvidia.com/gpu",
        "pods",
        "vpc.amazonaws.com/efa",
        "vpc.amazonaws.com/pod-eni",
    )
)
"""What Karpenter's provider gives types by itself (karpenter-provider-aws v1.14.1, pkg/providers/instancetype)."""


@dataclass(slots=True)
class Given:
    """What overlays say of one instance type of a pool."""

    has: set[str] = field(default_factory=set)
    """Resources of which it gets more than nothing."""
    zero: dict[str, Manifest] = field(default_factory=dict)
    """Overlays that say it has none, by resource."""


def findings(index: Index) -> Iterator[ObjectFinding]:
    """Types of pools that lack what overlays give to other types of the same pool."""
    if not index.tree.has("karpenter.sh", "NodeOverlay"):
        return
    for pool in index.nodes.pools:
        given = {name: _given(index, pool, name) for name in types_of(pool)}
        for resource in sorted(set().union(*(each.has for each in given.values()))):
            without = [name for name, each in given.items() if _lacks(each, resource)]
            if without and len(without) < len(given):
                yield from _left_out(pool, resource, without, given)


def types_of(pool: Pool) -> list[str]:
    """The instance types that a pool lists and does not exclude; none where it restricts what is not known of them."""
    names = sorted(pool.listed(INSTANCE_TYPE))
    about = [key for key in pool.offer if key.startswith(_PROVIDER)]
    if any(key not in instance_labels(name) for name in names for key in about):
        return []
    return [name for name in names if pool.takes(instance_labels(name))]


def _given(index: Index, pool: Pool, name: str) -> Given:
    """What overlays give an instance type of a pool; of those that surely apply the first decides on a resource."""
    given = Given()
    decided: set[str] = set()
    for overlay in index.overlays.of(pool, name, instance_labels(name)):
        for resource, amount in overlay.value.capacity.items():
            if resource in decided:
                continue
            if str(amount).strip() in ("0", ""):
                given.zero.setdefault(resource, overlay.manifest)
            else:
                given.has.add(resource)
        decided.update(overlay.value.capacity if overlay.is_sure else ())
    return given


def _left_out(pool: Pool, resource: str, without: list[str], given: dict[str, Given]) -> Iterator[ObjectFinding]:
    having = [name for name, each in given.items() if resource in each.has]
    shown = f"{resource} to {', '.join(having)} of NodePool {pool.name}, not to {', '.join(without)}"
    message = f"overlays give {shown}: Karpenter starts none of the latter for work that asks for it"
    zero = [name for name in without if resource in given[name].zero]
    for name in zero:
        yield ObjectFinding(LEFT_OUT, given[name].zero[resource], ("spec", "capacity", resource), message)
    if len(zero) < len(without):
        yield ObjectFinding(LEFT_OUT, pool.manifest, _place(pool), message)


def _lacks(given: Given, resource: str) -> bool:
    """Whether a type has none of a resource, nor another slice of the same maker's devices in its place."""
    if resource in given.has or (resource in _PROVIDERS_OWN and resource not in given.zero):
        return False
    maker, _, name = resource.partition("/")
    return not name or not any(each.startswith(f"{maker}/") for each in given.has)


def _place(pool: Pool) -> Path:
    path: Path = ("spec", "template", "spec", "requirements")
    number = pool.requirement_index(INSTANCE_TYPE)
    return path if number is None else (*path, number, "values")

"""Node overlays that give a resource to only some instance types of a node pool."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from gpuc.catalog import Catalog
from gpuc.cluster.index import Index
from gpuc.diagnostics.finding import Path, Severity, declare_rule
from gpuc.kubernetes.node_pool import INSTANCE_TYPE
from gpuc.manifest.manifest import Manifest
from gpuc.objects.node_pools import Pool
from gpuc.objects.object_finding import ObjectFinding
from gpuc.trace.instance_labels import instance_labels

PARTIAL_OVERLAY = declare_rule(
    "REF053",
    Severity.WARNING,
    "Node overlays give a resource to only some instance types of a node pool.",
    "Karpenter assumes that the other types lack the resource. It never starts them for pods that request the "
    "resource, even if the types with the resource are more expensive or not available.",
    "Karpenter v1.14.1, pkg/controllers/nodeoverlay",
)
_PROVIDER_PREFIX = "karpenter.k8s.aws/instance-"
_SET_BY_PROVIDER = frozenset(
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
"""Resources that Karpenter's provider sets itself (karpenter-provider-aws v1.14.1, pkg/providers/instancetype)."""


@dataclass(slots=True)
class Declared:
    """The resources that overlays declare for one instance type of a pool."""

    has: set[str] = field(default_factory=set)
    """Resources with an amount above zero."""
    zero: dict[str, Manifest] = field(default_factory=dict)
    """The first overlay that sets a resource to zero, by resource."""


def findings(index: Index) -> Iterator[ObjectFinding]:
    """Yields findings about instance types without a resource that overlays give to other types of the same pool."""
    if not index.tree.has("karpenter.sh", "NodeOverlay"):
        return
    for pool in index.nodes.pools:
        declared = {name: _declared(index, pool, name) for name in types_of(index.tree.catalog, pool)}
        for resource in sorted(set().union(*(resources.has for resources in declared.values()))):
            without = [name for name, resources in declared.items() if _lacks(resources, resource)]
            if without and len(without) < len(declared):
                yield from _partial(pool, resource, without, declared)


def types_of(catalog: Catalog, pool: Pool) -> list[str]:
    """Returns the instance types that a pool lists and does not exclude.

    The list is empty if a requirement cannot be evaluated.
    """
    names = sorted(pool.listed(INSTANCE_TYPE))
    required = [key for key in pool.offer if key.startswith(_PROVIDER_PREFIX)]
    if any(key not in instance_labels(catalog, name) for name in names for key in required):
        return []
    return [name for name in names if pool.can_start(instance_labels(catalog, name))]


def _declared(index: Index, pool: Pool, name: str) -> Declared:
    """Returns the resources of an instance type. The first overlay that certainly applies decides about a resource."""
    declared = Declared()
    decided: set[str] = set()
    for overlay in index.overlays.of(pool, name, instance_labels(index.tree.catalog, name)):
        for resource, amount in overlay.value.capacity.items():
            if resource in decided:
                continue
            if str(amount).strip() in ("0", ""):
                declared.zero.setdefault(resource, overlay.manifest)
            else:
                declared.has.add(resource)
        decided.update(overlay.value.capacity if overlay.is_sure else ())
    return declared


def _partial(pool: Pool, resource: str, without: list[str], declared: dict[str, Declared]) -> Iterator[ObjectFinding]:
    having = [name for name, resources in declared.items() if resource in resources.has]
    given = f"{resource} to instance type {', '.join(having)} of NodePool {pool.name}, but not to {', '.join(without)}"
    message = f"overlays give {given}, which Karpenter does not start for pods that request the resource"
    zero = [name for name in without if resource in declared[name].zero]
    for name in zero:
        yield ObjectFinding(PARTIAL_OVERLAY, declared[name].zero[resource], ("spec", "capacity", resource), message)
    if len(zero) < len(without):
        yield ObjectFinding(PARTIAL_OVERLAY, pool.manifest, _requirement_path(pool), message)


def _lacks(declared: Declared, resource: str) -> bool:
    """Returns whether an instance type lacks a resource and has no other device of the same vendor."""
    if resource in declared.has or (resource in _SET_BY_PROVIDER and resource not in declared.zero):
        return False
    vendor, _, name = resource.partition("/")
    return not name or not any(other.startswith(f"{vendor}/") for other in declared.has)


def _requirement_path(pool: Pool) -> Path:
    """Returns the path of the pool's requirement for instance types."""
    path: Path = ("spec", "template", "spec", "requirements")
    number = pool.requirement_index(INSTANCE_TYPE)
    return path if number is None else (*path, number, "values")

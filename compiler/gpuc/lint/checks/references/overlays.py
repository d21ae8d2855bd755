from __future__ import annotations

from dataclasses import dataclass, field

from gpuc.cluster.index import Index
from gpuc.cluster.pool import Pool
from gpuc.cluster.pool_fields import REQUIREMENTS
from gpuc.kubernetes.amounts import CPU, EPHEMERAL_STORAGE, MEMORY, PODS
from gpuc.kubernetes.node_pool import INSTANCE_TYPE
from gpuc.lint.checks import Findings, check, rule_of
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import ObjectSet
from gpuc.trace.node_capacity import DEVICES_OF_PROVIDER

PARTIAL_OVERLAY = rule_of("REF053")
_SET_BY_PROVIDER = (*DEVICES_OF_PROVIDER, CPU, MEMORY, EPHEMERAL_STORAGE, PODS)
"""Resources that Karpenter's provider sets itself (karpenter-provider-aws v1.14.1, pkg/providers/instancetype)."""


@dataclass(slots=True)
class Declared:
    """The resources that overlays declare for one instance type of a pool."""

    has: set[str] = field(default_factory=set)
    """Resources with an amount above zero."""
    zero: dict[str, Manifest] = field(default_factory=dict)
    """The first overlay that sets a resource to zero, by resource."""


@check(PARTIAL_OVERLAY)
def findings(objects: ObjectSet) -> Findings:
    """Yields findings about instance types without a resource that overlays give to other types of the same pool."""
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

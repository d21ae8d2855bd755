"""Checks whether all pods of a workload together fit into the limits of their node pools."""

from collections.abc import Sequence
from math import inf
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from gpuc.cluster.pool import Pool
from gpuc.cluster.pool_fields import LIMITS, REPLICAS
from gpuc.kubernetes.amounts import Amounts, counted, pods_that_fit, quantity_text, total
from gpuc.trace.nodes import UNLIMITED_NODES, MatchingPool, PodDemand, pods_per_node
from gpuc.trace.steps import Stage, Step, Steps

if TYPE_CHECKING:
    from gpuc.catalog.records import InstanceType

_RESERVED = "reserved nodes"
"""The key for the number of reserved nodes among the used resources of a pool."""


class Load(Struct, frozen=True):
    """Equal pods of a workload, and the node pools that accept these pods; the input of `packing_steps`."""

    demand: PodDemand
    found: Sequence[MatchingPool]


class _Nodes(Struct):
    """A number of equal nodes with equal pods."""

    pool: Pool
    instance: "InstanceType"
    free: Amounts
    number: int
    is_reserved: bool
    """Whether pods that need reserved instances can use the nodes."""


def packing_steps(loads: Sequence[Load], copies: int) -> Steps:
    """Yields a failed or unknown check if all pods together exceed, or may exceed, the limits of their node pools.

    Args:
        loads: the pods of one replica of the workload.
        copies: the number of replicas.
    """
    several = [Load(replace(load.demand, count=load.demand.count * copies), load.found) for load in loads]
    if (len(loads) == 1 and copies == 1) or not loads or any(_fits(several, order) for order in (-1, 1)):
        return
    pools = list(dict.fromkeys(match.pool for load in loads for match in load.found))
    names, manifest = ", ".join(pool.name for pool in pools), pools[0].manifest
    path = pools[0].place(REPLICAS if pools[0].is_static else LIMITS)
    is_sure = not any(match.unsure_types for load in loads for match in load.found)
    demands = [load.demand for load in several if is_sure]
    for resource, wanted in total(
        {name: count * demand.count for name, count in demand.pod.items()} for demand in demands
    ).items():
        supply = sum(_supply(pool, several, resource) for pool in pools)
        if wanted > supply:
            most = quantity_text(resource, int(supply))
            message = f"all pods together request {counted(resource, wanted)}; node pool {names} has at most {most}"
            replicas = int(supply * copies // wanted)
            fix = f"run at most {replicas} replicas" if replicas else f"request at most {most} {resource} together"
            yield Step(Stage.NODE, "failed", message, manifest, path, fix=fix if supply else "request less")
            return
    message = f"the pods may need more nodes together than node pool {names} can have"
    yield Step(Stage.NODE, "unknown", message, manifest, path)


def _supply(pool: Pool, loads: Sequence[Load], resource: str) -> float:
    """Returns the most of a resource that all nodes of a pool together can have."""
    matches = [match for load in loads for match in load.found if match.pool is pool]
    types = {instance.type: instance for match in matches for instance in match.types}
    if not types:
        return 0
    rooms = {name: matches[0].room.of(instance).get(resource, 0) for name, instance in types.items()}
    reserved = [match.nodes for match in matches if match.nodes is not None]
    bounds: list[float] = [max(reserved) * max(rooms.values())] if len(reserved) == len(matches) else []
    if pool.replicas is not None:
        return min(pool.replicas * max(rooms.values()), *bounds, inf)
    for limited, limit in pool.limits.items():
        sizes = {name: pool.counted(instance).get(limited, 0) for name, instance in types.items()}
        bounds.append(
            max(room and (limit / sizes[name] * room if sizes[name] else inf) for name, room in rooms.items())
        )
    return min(bounds, default=inf if max(rooms.values()) else 0)


def _fits(loads: Sequence[Load], order: int) -> bool:
    """Returns whether the pods fit. Large pods are placed first. A pod goes to a node with room, or else to a new node.

    Args:
        order: 1 to start the smallest instance types first; -1 to start the largest first.
    """
    nodes: list[_Nodes] = []
    used: dict[Pool, Amounts] = {}
    for load in sorted(loads, key=_size, reverse=True):
        remaining = _on_open_nodes(load, nodes)
        for match, instance, fit in _choices(load, order):
            if remaining <= 0:
                break
            pool_used = used.setdefault(match.pool, {})
            number = min(_free_nodes(match, instance, pool_used), -(-remaining // fit))
            if number > 0:
                is_reserved = match.nodes is not None
                for name, count in {**match.pool.counted(instance), _RESERVED: is_reserved}.items():
                    pool_used[name] = pool_used.get(name, 0) + count * number
                opened = _Nodes(match.pool, instance, match.room.of(instance), number, is_reserved)
                nodes.append(opened)
                remaining = _place(opened, load.demand, remaining, fit, nodes)
        if remaining > 0:
            return False
    return True


def _free_nodes(match: MatchingPool, instance: "InstanceType", used: Amounts) -> int:
    """Returns the number of nodes that a pool can start for pods, apart from the nodes that it already has."""
    free = match.pool.max_nodes(instance, used)
    reserved = None if match.nodes is None else match.nodes - used.get(_RESERVED, 0)
    return min((number for number in (free, reserved) if number is not None), default=UNLIMITED_NODES)


def _size(load: Load) -> tuple[int, int]:
    """Returns the sort key of pods: the number of devices, then the cpu."""
    devices = sum(count for name, count in load.demand.pod.items() if "/" in name)
    return devices, load.demand.pod.get("cpu", 0)


def _choices(load: Load, order: int) -> "list[tuple[MatchingPool, InstanceType, int]]":
    """Returns the instance types on which the pods fit, with the number of pods on an empty node."""
    choices = []
    for match in load.found:
        per_node = pods_per_node(match, load.demand)
        choices += [(match, instance, per_node[instance.type]) for instance in match.types if instance.type in per_node]
    return sorted(choices, key=lambda choice: (order * choice[1].vcpu, choice[0].pool.name, choice[1].type))


def _on_open_nodes(load: Load, nodes: list[_Nodes]) -> int:
    """Places pods on nodes that run other pods, and returns the number of pods that do not fit."""
    remaining = load.demand.count
    pairs = ((match, instance) for match in load.found for instance in match.types)
    accepted = {(match.pool, instance.type): match.nodes is not None for match, instance in pairs}
    for node in list(nodes):
        fit = pods_that_fit(node.free, load.demand.pod)
        if load.demand.per_node is not None:
            fit = min(fit, load.demand.per_node)
        needs_reservation = accepted.get((node.pool, node.instance.type))
        if fit and remaining > 0 and needs_reservation in (False, node.is_reserved):
            remaining = _place(node, load.demand, remaining, fit, nodes)
    return max(0, remaining)


def _place(node: _Nodes, demand: PodDemand, remaining: int, fit: int, nodes: list[_Nodes]) -> int:
    """Places pods on equal nodes, and returns the number of remaining pods. Other nodes become a new entry."""
    full = min(node.number, remaining // fit)
    rest = min(remaining - full * fit, fit) if full < node.number else 0
    empty = node.number - full - (1 if rest else 0)
    if empty:
        nodes.append(replace(node, number=empty))
    if rest:
        nodes.append(replace(node, free=_minus(node.free, demand.pod, rest), number=1))
    node.number, node.free = full, _minus(node.free, demand.pod, fit)
    if not full:
        nodes.remove(node)
    return remaining - full * fit - rest


def _minus(free: Amounts, pod: Amounts, number: int) -> Amounts:
    return {name: count - pod.get(name, 0) * number for name, count in free.items()}

"""Checks of a pod set after Kueue admits it: the topology, the node pools, their nodes, and the taints of the nodes."""

from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from gpuc.admission.validation.kueue import SLICE_TOPOLOGY
from gpuc.cluster.flavors import ResourceFlavor
from gpuc.cluster.instance_labels import instance_labels
from gpuc.cluster.pool import Pool
from gpuc.cluster.pool_fields import STARTUP_TAINTS
from gpuc.cluster.queue import Member
from gpuc.cluster.taint_removal import removing_agent
from gpuc.diagnostics.finding import Path
from gpuc.kubernetes.amounts import Amounts
from gpuc.kubernetes.flavor import topology_refusal
from gpuc.kubernetes.kueue import REQUIRED_TOPOLOGY
from gpuc.kubernetes.node_pool import AWS, HOSTNAME
from gpuc.objects.object_set import dig
from gpuc.trace.cluster_index import ClusterIndex
from gpuc.trace.flavors import topology_level
from gpuc.trace.node_capacity import capacity_step, other_nodes_message, unknown_resources_message
from gpuc.trace.node_fields import reason_step, selection_step, with_volume_terms
from gpuc.trace.nodes import MatchingPool, PodDemand, matching_pools, pod_demand, pods_per_node
from gpuc.trace.packing import Load, packing_steps
from gpuc.trace.slices import Slices, slices_of
from gpuc.trace.spreading import Spread, keys_apart, placement_step, spread, unjudged_field, used_port, with_volumes
from gpuc.trace.steps import Placement, Stage, Step, Steps, TraceResult, failed_if
from gpuc.trace.workload import PodSet, Workload

if TYPE_CHECKING:
    from gpuc.catalog import Catalog

_MAX_TYPES = 6
"""The number of instance types that the message about nodes names."""


def topology_steps(
    cluster: ClusterIndex, pods: PodSet, requests: Amounts, flavors: list[ResourceFlavor], queue: Member
) -> Steps:
    """Checks that existing nodes have enough resources for the pods, if a flavor of the pods has a topology.

    Source: kubernetes-sigs/kueue v0.19.2 pkg/cache/scheduler/tas_flavor_snapshot.go
    """
    with_topology = [flavor for flavor in flavors if flavor.topology]
    if not with_topology:
        return
    flavor = with_topology[0]
    step = partial(Step, Stage.TOPOLOGY, manifest=flavor.manifest, path=("spec", "topologyName"), pods=pods.name)
    demand = pod_demand(pods.pod, pods.count, requests, flavors)
    found, _ = matching_pools(cluster, demand)
    invalid = selection_step(pods, found, is_complete=cluster.objects.is_complete)
    if invalid is not None and invalid.failed:
        yield invalid
        return
    slices = slices_of(pods)
    if problem := slices.problem(pods, flavor.levels):
        yield step("failed", problem, field=(*pods.path, "metadata", "annotations", SLICE_TOPOLOGY))
        return
    static = [match for match in found if match.pool.is_static]
    checks = queue.setting("admissionChecksStrategy")
    if not cluster.nodes.pools or checks or any(not match.pool.is_known for match in static):
        yield step("unknown", "the input does not show the existing nodes")
        return
    level = topology_level(pods.annotations) or ""
    whole = pods.count // slices.size * slices.size
    required = level if dig(pods.annotations, REQUIRED_TOPOLOGY) is not None else ""  # all pods need the same domain
    least, room = _rooms(cluster, static, demand, slices, required)
    if not any(match.pool.replicas for match in static):
        message = f"no topology domains at level: {level or 'any'}; no static pool of {flavor.name} accepts the pods"
        yield step("failed", message)
    if room < whole:
        hidden = unknown_resources_message(cluster, static, requests)
        refusal = topology_refusal(flavor.topology, room, whole)
        yield step("unknown", hidden) if hidden else step("failed", refusal)
        return
    domain = f"the input does not show how many nodes are in one domain of {required or slices.level}"
    if unknown := _unplaced(pods, static, demand) or slices.unknown(pods) or ("" if least >= whole else domain):
        yield step("unknown", unknown)
    else:
        yield step("passed", f'topology "{flavor.topology}" has room for {room} pod(s)')


def _unplaced(pods: PodSet, static: list[MatchingPool], demand: PodDemand) -> str:
    """Returns why Kueue's choice of nodes can contradict rules that keep the pods apart; an empty text if it cannot."""
    most = max((number for match in static for number in pods_per_node(match, demand).values()), default=0)
    if min(most, pods.count) <= 1 or HOSTNAME not in keys_apart(pods):
        return ""
    return "Kueue ignores rules between the pods, and can assign several pods to a node that accepts one of them"


def _rooms(
    cluster: ClusterIndex, static: list[MatchingPool], demand: PodDemand, slices: Slices, required: str
) -> tuple[int, int]:
    """Returns how many pods certainly fit into the node pools, and how many fit at most.

    The nodes of a pool can be in several domains of a level. Unless the pool shows how many, one node is certain.

    Args:
        required: the node label of the level of which all pods need the same domain; empty without such a level.
    """
    known = {HOSTNAME: 1, **cluster.domain_nodes}
    sizes = [(match, known.get(required, match.pool.domain_nodes(required))) for match in static]
    most = [slices.room(match, demand, size, known.get(slices.level)) for match, size in sizes]
    least = [slices.room(match, demand, size or 1, known.get(slices.level, 1)) for match, size in sizes]
    return (max(least, default=0), max(most, default=0)) if required else (sum(least), sum(most))


def workload_node_steps(
    cluster: ClusterIndex, workload: Workload, sets: list[tuple[PodSet, PodDemand]], result: TraceResult, copies: int
) -> Steps:
    """Checks the nodes of every pod set, and then whether all pods of all replicas together fit into the node pools.

    Args:
        sets: the pod sets of one replica, with their demands.
        copies: the number of replicas of the workload.
    """
    loads = []
    for pods, resources in sets:
        volumes = with_volume_terms(cluster.objects, pods, workload.namespace, resources.terms)
        located = replace(resources, terms=volumes.terms)
        found = _usable(cluster, pods, located)
        pools = {match.pool for match in found}
        beside = ((row, _usable(cluster, own, row)) for own, row in sets if own is not pods)
        others = [row for row, usable in beside if pools & {match.pool for match in usable}]
        spreading = spread(cluster, pods, replace(located, count=pods.count * copies), found, others * copies)
        spreading = with_volumes(spreading, pods, pods.count * copies, volumes)
        demand = replace(located, per_node=spreading.per_node)
        is_placed = False
        for step in node_steps(cluster, pods, demand, result, spreading, copies):
            is_placed = is_placed or (step.stage is Stage.NODE and step.verdict == "passed")
            is_far = step.failed and step.stage is Stage.NODE_POOL and bool(_usable(cluster, pods, resources))
            yield volumes.step(step) if is_far else step
        if exclusive := placement_step(workload, pods):
            yield exclusive
        if is_placed:
            loads.append(Load(demand, _usable(cluster, pods, demand)))
    if len(loads) == len(sets):
        yield from packing_steps(loads, copies)


def node_steps(
    cluster: ClusterIndex, pods: PodSet, demand: PodDemand, result: TraceResult, spreading: Spread, copies: int
) -> Steps:
    """Checks that a node pool accepts the pods, that its nodes have enough resources, and that agents remove taints.

    The function adds the nodes of all replicas to the placement in `result`. If the nodes are not certain, the function
    yields a check with verdict "unknown" instead.

    Args:
        copies: the number of replicas of the workload.
    """
    if not cluster.nodes.pools:
        yield Step(Stage.NODE_POOL, "unknown", "the input has no node pool", pods=pods.name)
        return
    if field := unjudged_field(pods):
        yield Step(Stage.NODE_POOL, "unknown", f"the trace does not evaluate {field}", pods=pods.name)
        return
    found = _usable(cluster, pods, demand)
    if invalid := selection_step(pods, found, is_complete=cluster.objects.is_complete):
        yield invalid
    result.is_static = bool(found) and all(match.pool.is_static for match in found)
    if not found:
        yield _no_pool(cluster, pods, demand, result)
        return
    names = ", ".join(match.pool.name for match in found)
    message = f"node pool {names}: the labels match, and the pods tolerate the taints"
    yield Step(Stage.NODE_POOL, "passed", message, found[0].pool.manifest, (), pods.name)
    problem = capacity_step(cluster, found, demand, pods, spreading)
    if problem is not None:
        yield problem
        return
    per_node = {match.pool.name: pods_per_node(match, demand) for match in found}
    yield _placement_step(found, per_node, replace(demand, count=demand.count * copies), pods, result)
    for match in found:
        if per_node[match.pool.name]:
            yield from startup_step(cluster, match.pool, pods.name)


def _usable(cluster: ClusterIndex, pods: PodSet, demand: PodDemand) -> list[MatchingPool]:
    """Returns the node pools that accept the pods, except pools where DaemonSets use a port of the pods."""
    return [match for match in matching_pools(cluster, demand)[0] if not used_port(match, pods.pod)]


def _no_pool(cluster: ClusterIndex, pods: PodSet, demand: PodDemand, result: TraceResult) -> Step:
    """Returns the step for pods that no node pool accepts: failed, or unknown if other nodes can exist."""
    accepted, reasons = matching_pools(cluster, demand)
    placement = result.placements.get(pods.name)
    outside = other_nodes_message(cluster, demand, placement.flavors if placement else ())
    if outside:
        return Step(Stage.NODE_POOL, "unknown", outside, pods=pods.name)
    if accepted:
        message, pool = used_port(accepted[0], pods.pod), accepted[0].pool.manifest
        return Step(Stage.NODE_POOL, "failed", message, pool, (), pods.name, "use no port of the node, or another port")
    first, message = reasons[0], "; ".join(reason.message for reason in reasons)
    return reason_step(Stage.NODE_POOL, first._replace(message=message), pods)


def _placement_step(
    found: list[MatchingPool], per_node: dict[str, dict[str, int]], demand: PodDemand, pods: PodSet, result: TraceResult
) -> Step:
    """Returns the step that shows the nodes of the pods of all replicas, and writes the nodes to `result`.

    Args:
        per_node: the number of pods that fit on one node, by node pool and instance type.
    """
    pools = tuple(name for name, counts in per_node.items() if counts)
    types = tuple(dict.fromkeys(name for counts in per_node.values() for name in counts))
    node_counts = {-(-demand.count // count) for counts in per_node.values() for count in counts.values()}
    placement = result.placements.setdefault(pods.name, Placement())
    placement.pools, placement.instance_types = pools, types
    placement.nodes = node_counts.pop() if len(node_counts) == 1 else None
    count = f"{placement.nodes} x" if placement.nodes is not None else "nodes of type"
    shown = " or ".join(types)
    if len(types) > _MAX_TYPES:
        newest = sorted(types, key=partial(_newest_and_smallest, found[0].pool.catalog))
        shown = f"one of {len(types)} types such as {', '.join(newest[:3])}"
    message = f"{count} {shown or '(unknown type)'} in node pool {', '.join(pools)}"
    manifest = next((match.pool.manifest for match in found if per_node[match.pool.name]), None)
    return Step(Stage.NODE, "passed", message, manifest, (), pods.name)


def _newest_and_smallest(catalog: "Catalog", name: str) -> tuple[int, int, str]:
    """Returns the sort key of an instance type for examples: new generations first, then small types."""
    labels = instance_labels(catalog, name)
    generation, cores = labels.get(f"{AWS}instance-generation", "0"), labels.get(f"{AWS}instance-cpu", "0")
    return -int(generation), int(cores), name


def startup_step(cluster: ClusterIndex, pool: Pool, pods: str) -> Steps:
    """Checks that agents remove the startup taints of a pool; yields nothing for a pool without startup taints.

    Args:
        pods: the name of the pod set.
    """
    removals = []
    for taint in (taint for taint in pool.startup_taints if taint.keeps_off):
        agent = removing_agent(cluster.objects, pool, taint)
        if not agent:
            message = f"no known agent and no pods remove the startup taint {taint}"
            path: Path = (*STARTUP_TAINTS, taint.index)
            yield Step(Stage.STARTUP, failed_if(cluster.objects.is_complete), message, pool.manifest, path, pods)
            return
        removals.append(f"{agent} removes {taint}")
    if removals:
        yield Step(Stage.STARTUP, "passed", "; ".join(removals), pool.manifest, STARTUP_TAINTS, pods)

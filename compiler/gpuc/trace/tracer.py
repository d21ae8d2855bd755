"""Traces a workload through admission, Kueue, the scheduler and Karpenter, without a cluster.

The trace assumes an empty cluster, in which no other workload uses quota or nodes. So a workload that fails in a trace
also fails in the cluster.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gpuc.diagnostics.finding import Path
from gpuc.kubernetes.amounts import Amounts, described, total
from gpuc.kubernetes.flavor import Choice, topology_refusal
from gpuc.kubernetes.kueue import HOST, REQUIRED_TOPOLOGY
from gpuc.kubernetes.quota import Key
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import dig, items
from gpuc.trace import advice
from gpuc.trace.admission_errors import api_server_steps, is_device
from gpuc.trace.cluster_index import ClusterIndex
from gpuc.trace.counted import counting_quota
from gpuc.trace.flavors import choose, refusal_location, topology_level
from gpuc.trace.kueue_scope import how_to_manage, why_gated, why_unmanaged
from gpuc.trace.limits import container_limits, namespace_steps, replica_steps
from gpuc.trace.local_queue import cluster_queue_step, local_queue, local_queue_step, priority_steps
from gpuc.trace.nodes import (
    MatchingPool,
    PodDemand,
    insufficient_resources,
    matching_pools,
    max_pods,
    pod_demand,
    pods_per_node,
)
from gpuc.trace.policies import policy_steps
from gpuc.trace.quota import Node
from gpuc.trace.startup import startup_step
from gpuc.trace.steps import Placement, Stage, Step, TraceResult
from gpuc.trace.workload import PodSet, Workload, pod_requests

_MAX_COPIES = 10_000
"""The maximum number of replicas for which the trace checks the quota."""


def trace_workload(cluster: ClusterIndex, workload: Workload, *, policies: bool = True) -> TraceResult:
    """Returns the steps of a workload from its creation to its nodes. A failed step is the last step.

    Args:
        policies: whether to check gpuc's admission policies, and the quota of all replicas of an object.
    """
    result = TraceResult()
    for step in _steps(cluster, workload, policies, result):
        result.steps.append(step)
        if step.failed:
            break
    return result


def _steps(cluster: ClusterIndex, workload: Workload, policies: bool, result: TraceResult) -> Iterator[Step]:
    """Yields all steps in the order of the cluster. The caller stops at the first failed step."""
    limits = container_limits(cluster, workload.namespace)
    yield from api_server_steps(workload, limits)
    if policies:
        yield from policy_steps(cluster, workload)
    created = [(pods, pod_requests(pods.pod, limits)) for pods in workload.pod_sets]
    gated, fix = why_gated(cluster, workload)
    if gated:
        yield Step(Stage.LOCAL_QUEUE, "failed", gated, fix=fix)
    result.bypass = why_unmanaged(cluster, workload)
    flavors_of: dict[str, list[Manifest]] = {}
    if result.bypass:
        yield from _bypass_steps(cluster, workload, created, result)
    else:
        yield from _kueue_steps(cluster, workload, limits, flavors_of, result)
    total_requests = total({name: count * pods.count for name, count in requests.items()} for pods, requests in created)
    yield from namespace_steps(cluster, workload, limits, total_requests)
    for pods, requests in created:
        flavors = flavors_of.get(pods.name, [])
        demand = pod_demand(_with_device_tolerations(pods.pod, requests), pods.count, requests, flavors)
        yield from node_steps(cluster, pods, demand, result)
    if policies and workload.copies > 1 and not result.bypass:
        yield from _copies(cluster, workload, limits)
    elif policies and workload.copies > 1:
        yield from replica_steps(cluster, workload, total_requests)


def _bypass_steps(
    cluster: ClusterIndex, workload: Workload, created: list[tuple[PodSet, Amounts]], result: TraceResult
) -> Iterator[Step]:
    """Yields the steps of a workload outside of Kueue, and adds the ResourceQuota that counts its GPUs to the result.

    Args:
        created: the pod sets, each with the requests of one pod.
    """
    demands = [
        pod_demand(_with_device_tolerations(pods.pod, requests), pods.count, requests, []) for pods, requests in created
    ]
    result.counted_by, quota = counting_quota(cluster, workload, demands)
    if result.counted_by:
        yield Step(Stage.LOCAL_QUEUE, "bypassed", f"{result.bypass}; the pods go directly to the scheduler")
        yield Step(Stage.NAMESPACE, "passed", f"counted by {result.counted_by}", quota, ("spec", "hard"))
        return
    message = f"{result.bypass}; the pods go to the scheduler without the node labels and tolerations of a flavor"
    yield Step(Stage.LOCAL_QUEUE, "bypassed", message, fix=how_to_manage(result.bypass, workload))


def _kueue_steps(
    cluster: ClusterIndex,
    workload: Workload,
    limits: list[Any],
    flavors_of: dict[str, list[Manifest]],
    result: TraceResult,
) -> Iterator[Step]:
    """Yields the steps of the admission by Kueue, and adds the placements of the pod sets to the result.

    Args:
        flavors_of: the function adds the ResourceFlavors of every pod set.
    """
    local = local_queue(cluster, workload)
    yield local_queue_step(cluster, workload, local)
    assert local is not None, "a missing LocalQueue is a failed step, which ends the trace"
    yield from priority_steps(cluster, workload)
    queue = _cluster_queue(cluster, local)
    if queue is None:
        name = dig(local.body, "spec", "clusterQueue")
        fix = advice.for_name(f"spec.clusterQueue of {local}", str(name), cluster.quotas)
        message = f"ClusterQueue {name} does not exist"
        yield Step(Stage.CLUSTER_QUEUE, "failed", message, local, ("spec", "clusterQueue"), fix=fix)
        return
    yield cluster_queue_step(cluster, workload, queue)
    used: dict[Key, int] = {}
    pod_sets = [(pods, pod_requests(pods.pod, limits, template=workload.kind != "Pod")) for pods in workload.pod_sets]
    for pods, requests in pod_sets:
        choice = choose(cluster, queue, pods, requests, used)
        yield from admission_steps(cluster, queue, pods, requests, choice)
        result.placements[pods.name] = Placement(tuple(choice.names), choice.borrowed)
        flavors_of[pods.name] = [flavor for name in choice.names if (flavor := cluster.flavor(name)) is not None]
    for pods, requests in pod_sets:
        yield from topology_steps(cluster, pods, requests, flavors_of[pods.name], queue)


def _with_device_tolerations(pod: Any, requests: Amounts) -> Any:
    """Returns the pod with the tolerations that EKS adds: for a requested device, of the taint with the device's name.

    Source: k8s.io/kubernetes v1.35.4 plugin/pkg/admission/extendedresourcetoleration/admission.go;
    https://docs.aws.amazon.com/eks/latest/userguide/platform-versions.html
    """
    added = [{"key": name, "operator": "Exists", "effect": "NoSchedule"} for name in requests if is_device(name)]
    declared = [toleration for _, toleration in items(dig(pod, "tolerations"))]
    return {**pod, "tolerations": [*declared, *added]} if isinstance(pod, dict) else pod


def _cluster_queue(cluster: ClusterIndex, local: Manifest) -> Node | None:
    return cluster.quotas.get(str(dig(local.body, "spec", "clusterQueue")))


def _copies(cluster: ClusterIndex, workload: Workload, limits: list[Any]) -> Iterator[Step]:
    """Yields a failed step if the quota is too small for all replicas of an object; every replica is one workload."""
    local = local_queue(cluster, workload)
    queue = _cluster_queue(cluster, local) if local is not None else None
    if queue is None:
        return
    used: dict[Key, int] = {}
    pod_sets = [(pods, pod_requests(pods.pod, limits)) for pods in workload.pod_sets]
    for count in range(min(workload.copies, _MAX_COPIES)):
        if not all(choose(cluster, queue, pods, requests, used).flavors for pods, requests in pod_sets):
            message = f"only {count} of {workload.copies} replicas get quota at the same time"
            path: Path = ("spec", "resourceGroups")
            yield Step(Stage.QUOTA, "failed", message, queue.manifest, path, fix=f"run at most {count} replicas")
            return


def admission_steps(
    cluster: ClusterIndex, queue: Node, pods: PodSet, requests: Amounts, choice: Choice
) -> Iterator[Step]:
    """Checks that the queue covers the resources, that a flavor fits the pods, and that the quota is large enough.

    Args:
        requests: the requests of one pod.
        choice: the flavors that Kueue chooses for the pods.
    """
    manifest = queue.manifest
    groups: Path = ("spec", "resourceGroups")
    refused = [attempt for attempt in choice.attempts if attempt.refused_by]
    reasons = "; ".join(reason for attempt in refused for reason in attempt.reasons)
    uncovered = [attempt.reasons[0] for attempt in refused if attempt.refused_by == "resource"]
    if uncovered:
        fix = advice.for_resources(cluster, queue, (reason.split()[1] for reason in uncovered))
        yield Step(Stage.RESOURCES, "failed", "; ".join(uncovered), manifest, groups, pods.name, fix)
    message = f"{manifest} covers every requested resource"
    yield Step(Stage.RESOURCES, "passed", message, manifest, groups, pods.name)
    exceeded = [attempt for attempt in refused if attempt.refused_by == "quota"]
    if not choice.flavors and not exceeded and (refused or any(requests.values())):
        location = refusal_location(cluster, queue, pods, refused[0]) if refused else (manifest, groups)
        fix = advice.for_flavor(cluster, queue, pods, refused)
        yield Step(Stage.FLAVOR, "failed", reasons or f"{manifest} has no flavor", *location, pods.name, fix)
        return
    if exceeded and not choice.flavors:
        names = ", ".join(attempt.flavor for attempt in exceeded)
        location = refusal_location(cluster, queue, pods, exceeded[0])
        yield Step(Stage.FLAVOR, "passed", f"flavor {names} fits the pods", manifest, location[1][:-1], pods.name)
        fix = advice.for_quota(queue, requests, refused)
        yield Step(Stage.QUOTA, "failed", reasons, *location, pods.name, fix)
        return
    chosen = next(
        (attempt for attempt in choice.attempts if attempt.flavor in choice.names and not attempt.refused_by), None
    )
    flavor, path = manifest, groups
    if chosen is not None:
        flavor, path = cluster.flavor(chosen.flavor), refusal_location(cluster, queue, pods, chosen)[1]
    names = ", ".join(choice.names)
    message = f"Kueue chooses flavor {names}" if names else "the pods request no resources"
    yield Step(Stage.FLAVOR, "passed", message, flavor, ("spec",), pods.name)
    message = f"the nominal quota of {manifest} is large enough"
    if choice.borrowed:
        message = f"{manifest} borrows {described(choice.borrowed)} from its cohort"
    yield Step(Stage.QUOTA, "passed", message, manifest, path, pods.name)


def topology_steps(
    cluster: ClusterIndex, pods: PodSet, requests: Amounts, flavors: list[Manifest], queue: Node
) -> Iterator[Step]:
    """Checks that existing nodes have enough resources for the pods, if a flavor has a topology.

    Source: kubernetes-sigs/kueue v0.19.2 pkg/cache/scheduler/tas_flavor_snapshot.go
    """
    with_topology = [flavor for flavor in flavors if dig(flavor.body, "spec", "topologyName") is not None]
    checks = dig(queue.manifest.body if queue.manifest else None, "spec", "admissionChecksStrategy")
    if not with_topology:
        return
    flavor, path = with_topology[0], ("spec", "topologyName")
    demand = pod_demand(pods.pod, pods.count, requests, flavors)
    found, _ = matching_pools(cluster, demand)
    static = [match for match in found if match.pool.replicas is not None]
    if not cluster.pools or checks or any(not match.pool.is_known for match in static):
        message = "the input does not show the existing nodes"
        yield Step(Stage.TOPOLOGY, "unknown", message, flavor, path, pods.name)
        return
    name, level = dig(flavor.body, "spec", "topologyName"), topology_level(pods.annotations) or ""
    room = topology_room(cluster, static, demand, _required_level(pods))
    if not any(match.pool.replicas for match in static):
        message = f"no topology domains at level: {level or 'any'}; flavor {flavor.name} has no static node pool"
        yield Step(Stage.TOPOLOGY, "failed", message, flavor, path, pods.name)
    if room < pods.count and (unknown := _unknown_resources(cluster, static, requests)):
        yield Step(Stage.TOPOLOGY, "unknown", unknown, flavor, path, pods.name)
        return
    if room < pods.count:
        yield Step(Stage.TOPOLOGY, "failed", topology_refusal(name, room, pods.count), flavor, path, pods.name)
    message = f'topology "{name}" has room for {room} pod(s)'
    if _required_level(pods) not in ("", HOST, *cluster.domain_nodes):
        message += f"; this assumes that all nodes are in one domain of {_required_level(pods)}"
    yield Step(Stage.TOPOLOGY, "passed", message, flavor, path, pods.name)


def _unknown_resources(cluster: ClusterIndex, found: list[MatchingPool], requests: Amounts) -> str:
    """Returns a message with the requested resources for which a partial object set does not show the nodes' capacity.

    Returns an empty string if the capacity of the nodes is known.
    """
    if cluster.objects.is_complete or not found or any(match.pool.replicas is None for match in found):
        return ""
    known = {name for match in found for instance in match.types for name in match.pool.room(instance)}
    names = ", ".join(name for name in requests if name not in known)
    return f"the input does not show the capacity of the existing nodes for {names}" if names else ""


def topology_room(cluster: ClusterIndex, static: list[MatchingPool], pods: PodDemand, level: str) -> int:
    """Returns the maximum number of pods that fit on existing nodes at the same time.

    Args:
        static: the static node pools that accept the pods.
        level: the node label of a topology level, if all pods have to be in one domain; otherwise an empty string.
    """
    if not level:
        return sum(max_pods(match, pods) for match in static)
    nodes = 1 if level == HOST else cluster.domain_nodes.get(level)
    return max((max_pods(match, pods, nodes) for match in static), default=0)


def _required_level(pods: PodSet) -> str:
    """Returns the topology level of which all pods need the same domain; an empty string without such a level."""
    return topology_level(pods.annotations) or "" if dig(pods.annotations, REQUIRED_TOPOLOGY) is not None else ""


def node_steps(cluster: ClusterIndex, pods: PodSet, demand: PodDemand, result: TraceResult) -> Iterator[Step]:
    """Checks that a node pool accepts the pods, that its nodes have enough resources, and that agents remove taints.

    Adds the nodes to the placement of the pod set.
    """
    if not cluster.pools:
        yield Step(Stage.NODE_POOL, "unknown", "the input has no NodePool", pods=pods.name)
        return
    found, reasons = matching_pools(cluster, demand)
    result.is_static = bool(found) and all(match.pool.replicas is not None for match in found)
    if not found:
        message, first = "; ".join(reason.message for reason in reasons), reasons[0]
        yield Step(Stage.NODE_POOL, "failed", message, first.manifest, first.path, pods.name, first.fix)
    names = ", ".join(match.pool.name for match in found)
    pool = found[0].pool.manifest
    message = f"node pool {names}: the labels match, and the pods tolerate the taints"
    yield Step(Stage.NODE_POOL, "passed", message, pool, (), pods.name)
    per_node = {match.pool.name: pods_per_node(match, demand) for match in found}
    most = sum(max_pods(match, demand) for match in found)
    if most < demand.count and (unknown := _unknown_resources(cluster, found, demand.pod)):
        yield Step(Stage.NODE, "unknown", unknown, pool, (), pods.name)
        return
    if most < demand.count:
        unlisted = next((match.pool for match in found if not match.pool.is_known), None)
        if unlisted is not None:
            message = f"node pool {unlisted.name} can start instance types that are not in gpuc's catalog"
            yield Step(Stage.NODE, "unknown", message, unlisted.manifest, (), pods.name)
            return
        if any(per_node.values()):
            message = f"node pool {names} has resources for {most} of {demand.count} pods"
            yield Step(
                Stage.NODE, "failed", message, pool, ("spec", "limits"), pods.name, f"run at most {most} such pods"
            )
        else:
            reason = insufficient_resources(found[0], demand)
            yield Step(Stage.NODE, "failed", reason.message, reason.manifest, reason.path, pods.name, reason.fix)
    yield _placement_step(found, per_node, demand, pods, result)
    for match in found:
        if per_node[match.pool.name]:
            yield from startup_step(cluster, match.pool, pods.name)


def _placement_step(
    found: list[MatchingPool], per_node: dict[str, dict[str, int]], demand: PodDemand, pods: PodSet, result: TraceResult
) -> Step:
    """Returns the step that shows the nodes of a pod set, and writes the nodes to the pod set's placement in `result`.

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
    message = f"{count} {' or '.join(types) or '(unknown type)'} in node pool {', '.join(pools)}"
    manifest = next((match.pool.manifest for match in found if per_node[match.pool.name]), None)
    return Step(Stage.NODE, "passed", message, manifest, (), pods.name)

"""Checks whether the nodes of some node pools are enough for all pods of a pod set, a set of equal pods."""

import re
from collections.abc import Sequence

from msgspec.structs import replace

from gpuc.cluster.application import Delivery
from gpuc.cluster.node_class import AUTO_MODE_GROUP
from gpuc.cluster.pool_fields import LIMITS, REPLICAS, REQUIREMENTS
from gpuc.diagnostics.finding import Path
from gpuc.kubernetes.amounts import Amounts
from gpuc.kubernetes.api_groups import KARPENTER_AWS
from gpuc.kubernetes.node_pool import AWS_LABELS, HOSTNAME, WELL_KNOWN, normal
from gpuc.kubernetes.selector import Requirement
from gpuc.model.names import RESERVED_INSTANCES
from gpuc.objects.object_set import dig, items
from gpuc.objects.pod_resources import is_extended as is_device
from gpuc.trace.cluster_index import ClusterIndex
from gpuc.trace.node_fields import reason_step
from gpuc.trace.nodes import (
    MatchingPool,
    PodDemand,
    insufficient_resources,
    max_pods,
    pods_per_node,
    several,
    types_with_room,
)
from gpuc.trace.spreading import Spread
from gpuc.trace.steps import Stage, Step, failed_if
from gpuc.trace.workload import PodSet

_EVERYWHERE = frozenset(WELL_KNOWN) - {"karpenter.sh/nodepool", "karpenter.sh/capacity-type"}
"""Labels of all nodes, also of nodes that Karpenter does not start."""
DEVICES_OF_PROVIDER = (
    *("nvidia.com/gpu", "amd.com/gpu", "habana.ai/gaudi", "vpc.amazonaws.com/efa", "vpc.amazonaws.com/pod-eni"),
    *("aws.amazon.com/neuron", "aws.amazon.com/neuroncore"),
)
"""Devices that Karpenter's provider expects on nodes without a NodeOverlay.

Source: aws/karpenter-provider-aws v1.14.1 pkg/apis/v1/labels.go (WellKnownResources)
"""
_PLUGINS = {
    "amd.com/gpu": re.compile("amd.?gpu|rocm|amd-gpu"),
    "habana.ai/gaudi": re.compile("habana|gaudi"),
    "aws.amazon.com/neuron": re.compile("neuron"),
    "aws.amazon.com/neuroncore": re.compile("neuron"),
}
"""Words in the names or images of device plugins, by the device that they advertise."""


def capacity_step(
    cluster: ClusterIndex, found: list[MatchingPool], demand: PodDemand, pods: PodSet, spreading: Spread
) -> Step | None:
    """Returns a failed or unknown check for pods that do not certainly get nodes; None if all certainly do."""
    if sum(max_pods(match, demand) for match in found) < demand.count:
        return _shortage(cluster, found, demand, pods)
    pool = found[0].pool.manifest
    fit = {match.pool: pods_per_node(match, demand) for match in found}
    if refusal := spreading.refusal:
        reason = "A rule between the pods allows fewer pods."
        field = (*pods.path, "spec", *refusal.field)
        return Step(Stage.NODE, "failed", refusal.message, pool, (), pods.name, refusal.fix, field, reason)
    min_values = [match.pool.min_values_message([*fit[match.pool], *types_with_room(match, demand)]) for match in found]
    if all(min_values):
        verdict = failed_if(cluster.objects.is_complete)
        fix = "reduce minValues in the NodePool, or allow more instance types"
        reason = "Too few instance types accept the pods (minValues), so Karpenter starts no node."
        return Step(Stage.NODE, verdict, min_values[0], pool, REQUIREMENTS, pods.name, fix, reason=reason)
    certain = [match for match in found if not match.doubt]
    doubts = (match.doubt for match in found if match.doubt and fit[match.pool])
    doubt = "" if sum(max_pods(match, demand) for match in certain) >= demand.count else next(doubts, "")
    unknown = doubt or spreading.unknown or missing_device_plugin(cluster, demand.pod)
    return Step(Stage.NODE, "unknown", unknown, pool, (), pods.name) if unknown else None


def _shortage(cluster: ClusterIndex, found: list[MatchingPool], demand: PodDemand, pods: PodSet) -> Step:
    """Returns the step for pods for which the known nodes of the pools are not enough."""
    pool, names = found[0].pool, ", ".join(match.pool.name for match in found)
    message = (
        unknown_resources_message(cluster, found, demand.pod)
        or _unsure_types_message(found, demand)
        or other_devices_message(cluster, found, demand)
        or other_nodes_message(cluster, demand)
    )
    if message:
        return Step(Stage.NODE, "unknown", message, pool.manifest, (), pods.name)
    if not any(pods_per_node(match, demand) for match in found):
        return reason_step(Stage.NODE, insufficient_resources(found, demand), pods)
    most = sum(max_pods(match, demand) for match in found)
    fix = f"run at most {most} such pods" if most else f"raise the limits of node pool {names}"
    unreserved = [match._replace(nodes=None) for match in found]
    if sum(max_pods(match, demand) for match in unreserved) >= demand.count:
        number = sum(match.nodes or 0 for match in found)
        message = f"the {number} reserved instances of node pool {names} have room for {most} of {demand.count} pods"
        reason = "The capacity reservations have too few instances for the pods."
        path: Path = ("metadata", "annotations", RESERVED_INSTANCES)
        return Step(Stage.NODE, "failed", message, pool.manifest, path, pods.name, fix, reason=reason)
    message = f"node pool {names} has resources for {most} of {demand.count} pods"
    if sum(max_pods(match, replace(demand, per_node=None)) for match in found) >= demand.count:
        message = f"node pool {names} has nodes for {most} of {demand.count} pods: at most {demand.per_node} per node"
    path = pool.place(REPLICAS if pool.is_static else LIMITS)
    reason = "" if pool.is_static else "The limits of the node pools are too low for the pods."
    return Step(Stage.NODE, "failed", message, pool.manifest, path, pods.name, fix, reason=reason)


def unknown_resources_message(cluster: ClusterIndex, found: list[MatchingPool], requests: Amounts) -> str:
    """Returns a message about requested resources whose capacity the input does not show; otherwise empty."""
    if cluster.objects.is_complete or not found or any(not match.pool.is_static for match in found):
        return ""
    known = {name for match in found for instance in match.types for name in match.room.of(instance)}
    names = ", ".join(name for name in requests if name not in known)
    return f"the input does not show the capacity of the existing nodes for {names}" if names else ""


def _unsure_types_message(found: list[MatchingPool], demand: PodDemand) -> str:
    """Returns a message about instance types that may have enough resources, because their figures are not known."""
    for match in found:
        if not match.pool.is_known and (api_group := match.pool.api_group) not in (KARPENTER_AWS, AUTO_MODE_GROUP):
            return f"gpuc does not know the instance types of node class {api_group} of {match.pool.manifest}"
        if names := types_with_room(match, demand):
            return f"gpuc does not know whether node pool {match.pool.name} has nodes for the pods: {several(names)}"
    return ""


def other_nodes_message(cluster: ClusterIndex, demand: PodDemand, flavors: Sequence[str] = ()) -> str:
    """Returns why the pods may run on nodes that no NodePool of the input starts; an empty string if they cannot.

    In a complete object set, all nodes except the system nodes come from NodePools.

    Args:
        flavors: the names of the ResourceFlavors whose node labels the demand contains.
    """
    if cluster.objects.is_complete:
        return ""
    if wanted := _of_other_nodes(cluster, demand):
        known = cluster.flavors
        with_label = (name for name in flavors if name in known and wanted.key in known[name].labels)
        subject = f"flavor {name}" if (name := next(with_label, "")) else "the node selector of the pods"
        return f"{subject} selects nodes that no NodePool of the input makes: {wanted}"
    if not cluster.nodes.is_complete:
        return "the input has objects of other kinds that make nodes"
    keys = {normal(wanted.key) for term in demand.terms for wanted in term}
    if keys <= _EVERYWHERE and not any(is_device(name) and count for name, count in demand.pod.items()):
        return "no NodePool of the input makes nodes for the pods, but other nodes may run them"
    return ""


def _of_other_nodes(cluster: ClusterIndex, demand: PodDemand) -> Requirement | None:
    """Returns the first requirement for a label that no node of a NodePool has."""
    known = (cluster.nodes.keys - {HOSTNAME}) | AWS_LABELS
    for wanted in (wanted for term in demand.terms for wanted in term):
        key, is_absent = normal(wanted.key), wanted.domain.absent
        if (key == "karpenter.sh/nodepool") if is_absent else key not in known:
            return wanted
    return None


def other_devices_message(cluster: ClusterIndex, found: Sequence[MatchingPool], demand: PodDemand) -> str:
    """Returns a message about a requested device that Karpenter does not know but nodes may have; otherwise empty.

    Karpenter knows the devices of the provider and of NodeOverlays. In a complete object set, no other device exists.
    """
    if cluster.objects.is_complete:
        return ""
    rooms = [match.room.of(instance) for match in found for instance in match.types]
    for name, count in demand.pod.items():
        if count and is_device(name) and name not in DEVICES_OF_PROVIDER and not any(room.get(name) for room in rooms):
            return f"the input does not show which nodes have {name}; no node starts for it"
    return ""


def missing_device_plugin(cluster: ClusterIndex, pod: Amounts) -> str:
    """Returns a message about a requested device whose device plugin the input does not have; otherwise empty."""
    texts = [*cluster.objects.once(Delivery).charts, *(pods.manifest.name for pods in cluster.daemonsets)]
    containers = (row for pods in cluster.daemonsets for _, row in items(dig(pods.spec, "containers")))
    texts += [str(dig(container, "image")) for container in containers]
    for name, words in _PLUGINS.items():
        if pod.get(name) and not any(words.search(text) for text in texts):
            return f"the input has no device plugin that advertises {name}"
    return ""

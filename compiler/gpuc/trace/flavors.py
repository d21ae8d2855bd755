"""The flavors that Kueue chooses for a workload."""

from __future__ import annotations

from typing import Any

from gpuc.diagnostics.finding import Path
from gpuc.kubernetes import flavor as kueue
from gpuc.kubernetes.amounts import PODS, Amounts
from gpuc.kubernetes.flavor import Attempt, Choice, Group
from gpuc.kubernetes.kueue import PREFERRED_TOPOLOGY, REQUIRED_TOPOLOGY, UNCONSTRAINED_TOPOLOGY
from gpuc.kubernetes.quota import NOTHING, Key, Usage
from gpuc.kubernetes.selector import matches
from gpuc.kubernetes.toleration import Taint, untolerated
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import dig, items, labels
from gpuc.objects.selectors import node_terms, taints, tolerations
from gpuc.trace.cluster_index import ClusterIndex
from gpuc.trace.quota import Node
from gpuc.trace.workload import PodSet


def topology_level(annotations: Any) -> str | None:
    """Returns the node label of the topology level that the annotations of pods request.

    Returns an empty string for a request of any level, and None without a topology annotation.
    """
    for key in (REQUIRED_TOPOLOGY, PREFERRED_TOPOLOGY):
        level = dig(annotations, key)
        if isinstance(level, str):
            return level
    return "" if str(dig(annotations, UNCONSTRAINED_TOPOLOGY)).lower() == "true" else None


def choose(
    cluster: ClusterIndex,
    queue: Node,
    pods: PodSet,
    requests: Amounts,
    used: dict[Key, int],
    usage: Usage = NOTHING,
) -> Choice:
    """Returns the flavors that Kueue chooses for one pod set in a ClusterQueue.

    Args:
        requests: the requests of one pod.
        used: the usage of earlier pod sets of the workload, by flavor and resource. The function adds the usage of this
            pod set.
        usage: the usage of other workloads.
    """
    spec = dig(queue.manifest.body if queue.manifest else None, "spec")
    groups = [_group(group) for _, group in items(dig(spec, "resourceGroups"))]
    total = {name: count * pods.count for name, count in requests.items()}
    if any(PODS in group.resources for group in groups):
        total[PODS] = pods.count
    stops_at_borrowing = dig(spec, "flavorFungibility", "whenCanBorrow") in (None, "Borrow", "MayStopSearch")
    kueue_queue = kueue.Queue(queue, groups, _is_all_topology(cluster, queue), stops_at_borrowing, usage)
    return kueue.choose(
        kueue_queue, total, topology_level(pods.annotations), lambda name: _flavor(cluster, name, pods), used
    )


def refusal_location(
    cluster: ClusterIndex, queue: Node, pods: PodSet, attempt: Attempt
) -> tuple[Manifest | None, Path]:
    """Returns the object and path that cause a refusal; for a chosen flavor, its path in the ClusterQueue."""
    path = _path(queue, attempt.flavor)
    flavor = cluster.flavor(attempt.flavor)
    match attempt.refused_by:
        case "unknown":
            return queue.manifest, (*path, "name")
        case "topology":
            return flavor, ("spec", "topologyName")
        case "labels":
            return flavor, ("spec", "nodeLabels")
        case "taint":
            taint = _untolerated(flavor, pods)
            return flavor, ("spec", "nodeTaints", taint.index if taint else 0)
        case "quota":
            return queue.manifest, (*path, "resources")
    return queue.manifest, path


def _path(queue: Node, flavor: str) -> Path:
    """Returns the path of a flavor in a queue; without the flavor, the path of the resource groups."""
    groups: Path = ("spec", "resourceGroups")
    for g, group in items(dig(queue.manifest.body if queue.manifest else None, *groups)):
        for f, row in items(dig(group, "flavors")):
            if flavor and str(dig(row, "name")) == flavor:
                return (*groups, g, "flavors", f)
    return groups


def _group(group: Any) -> Group:
    names = tuple(str(dig(flavor, "name")) for _, flavor in items(dig(group, "flavors")))
    covered = frozenset(str(name) for _, name in items(dig(group, "coveredResources")))
    return Group(covered, names)


def _flavor(cluster: ClusterIndex, name: str, pods: PodSet) -> kueue.Flavor | None:
    """Returns a flavor and how it fits the pods; None if the ResourceFlavor does not exist."""
    flavor = cluster.flavor(name)
    if flavor is None:
        return None
    topology, taint = cluster.topology(flavor), _untolerated(flavor, pods)
    levels = items(dig(topology.body if topology else None, "spec", "levels"))
    return kueue.Flavor(
        name,
        has_topology=_has_topology(flavor),
        levels=tuple(str(dig(level, "nodeLabel")) for _, level in levels),
        taint=str(taint) if taint else "",
        matches_selector=_matches_selector(flavor, pods),
    )


def _matches_selector(flavor: Manifest, pods: PodSet) -> bool:
    """Returns whether the node selector of the pods matches the node labels of a flavor.

    As in Kueue, requirements for labels that the flavor does not have are ignored.
    """
    node_labels = labels(dig(flavor.body, "spec", "nodeLabels"))
    terms = [
        tuple(requirement for requirement in term if requirement.key in node_labels) for term in node_terms(pods.pod)
    ]
    return any(matches(term, node_labels) for term in terms)


def _untolerated(flavor: Manifest | None, pods: PodSet) -> Taint | None:
    """Returns the first taint of a flavor that neither the pods nor the flavor tolerate; None if all are tolerated."""
    spec = dig(flavor.body if flavor else None, "spec")
    tolerated = (*tolerations(dig(pods.pod, "tolerations")), *tolerations(dig(spec, "tolerations")))
    return untolerated(taints(dig(spec, "nodeTaints")), tolerated)


def _has_topology(flavor: Manifest | None) -> bool:
    return flavor is not None and dig(flavor.body, "spec", "topologyName") is not None


def _is_all_topology(cluster: ClusterIndex, queue: Node) -> bool:
    """Returns whether all flavors of a queue have a topology."""
    result = cluster.all_topology.get(queue.name)
    if result is None:
        names = {flavor for flavor, _ in queue.quotas}
        result = bool(names) and all(_has_topology(cluster.flavor(name)) for name in names)
        cluster.all_topology[queue.name] = result
    return result

"""Computes the flavors that Kueue chooses for a workload."""

from collections.abc import Iterable
from typing import Any

from gpuc.admission.validation.kueue import SLICE_CONSTRAINTS, SLICE_TOPOLOGY
from gpuc.cluster.flavors import ResourceFlavor
from gpuc.cluster.queue import GROUPS, Member
from gpuc.diagnostics.finding import Path
from gpuc.kubernetes import flavor as kueue
from gpuc.kubernetes.amounts import PODS, Amounts
from gpuc.kubernetes.flavor import Attempt, Choice, Group
from gpuc.kubernetes.kueue import PREFERRED_TOPOLOGY, REQUIRED_TOPOLOGY, UNCONSTRAINED_TOPOLOGY
from gpuc.kubernetes.quota import NOTHING, Key, Node, Usage, add_usage
from gpuc.kubernetes.selector import matches
from gpuc.kubernetes.toleration import Taint, untolerated
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import dig
from gpuc.objects.pod_resources import pod_requests
from gpuc.objects.selectors import node_terms
from gpuc.trace.cluster_index import ClusterIndex
from gpuc.trace.workload import PodSet

_FIELDS = {"topology": "topologyName", "labels": "nodeLabels", "taint": "nodeTaints"}
"""The field of a ResourceFlavor that causes a refusal."""


def topology_level(annotations: Any) -> str | None:
    """Returns the node label of the topology level that pods request with annotations.

    The result is an empty string if the pods accept any level, and None if they have no topology annotation.
    """
    for key in (REQUIRED_TOPOLOGY, PREFERRED_TOPOLOGY):
        level = dig(annotations, key)
        if isinstance(level, str):
            return level
    is_any = str(dig(annotations, UNCONSTRAINED_TOPOLOGY)).lower() == "true"
    has_slices = any(dig(annotations, key) is not None for key in (SLICE_TOPOLOGY, SLICE_CONSTRAINTS))
    return "" if is_any or has_slices else None


def choose(
    cluster: ClusterIndex, queue: Member, pods: PodSet, requests: Amounts, used: dict[Key, int], usage: Usage = NOTHING
) -> Choice:
    """Returns the flavors that Kueue chooses in a ClusterQueue for one pod set.

    Args:
        requests: the requests of one pod.
        used: the quota of earlier pod sets of the workload, by flavor and resource. The function adds this pod set.
        usage: the quota that other workloads use.
    """
    groups = [Group(frozenset(group.covered), tuple(flavor.name for flavor in group.flavors)) for group in queue.groups]
    total = {name: count * pods.count for name, count in requests.items()}
    if any(PODS in group.resources for group in groups):
        total[PODS] = pods.count
    stops_at_borrowing = queue.setting("flavorFungibility", "whenCanBorrow") in (None, "Borrow", "MayStopSearch")
    names, flavors = queue.by_flavor, cluster.flavors
    is_all_topology = bool(names) and all(name in flavors and flavors[name].topology for name in names)
    kueue_queue = kueue.Queue(queue, groups, is_all_topology, stops_at_borrowing, usage)
    return kueue.choose(
        kueue_queue, total, topology_level(pods.annotations), lambda name: _flavor(cluster, name, pods), used
    )


def admit(
    cluster: ClusterIndex, queue: Member, pod_sets: Iterable[PodSet], usage: dict[tuple[Node, Key], int]
) -> tuple[dict[str, Choice], dict[Key, int]]:
    """Returns the flavors of a workload by pod set, and the quota that it uses; no quota if Kueue refuses a pod set.

    The function assumes that the workload preempts no other workload.

    Args:
        usage: the quota that other workloads use. The function adds this workload, also to the cohorts above.
    """
    used: dict[Key, int] = {}
    choices = {pods.name: choose(cluster, queue, pods, pod_requests(pods.pod), used, usage) for pods in pod_sets}
    if any(choice.is_refused for choice in choices.values()):
        return choices, {}
    for key, count in used.items():
        add_usage(queue, key, count, usage)
    return choices, used


def refusal_location(
    cluster: ClusterIndex, queue: Member, pods: PodSet, attempt: Attempt
) -> tuple[Manifest | None, Path]:
    """Returns the object and the path because of which Kueue refuses a flavor, or the path of an accepted flavor."""
    in_queue = queue.flavors.get(attempt.flavor)
    path = in_queue.path if in_queue else GROUPS
    flavor = cluster.flavors.get(attempt.flavor)
    if attempt.refused_by == "unknown":
        return queue.manifest, (*path, "name")
    if attempt.refused_by == "quota":
        return queue.manifest, (*path, "resources")
    if flavor is None or attempt.refused_by not in _FIELDS:
        return queue.manifest, path
    taint = _untolerated(flavor, pods) if attempt.refused_by == "taint" else None
    return flavor.manifest, ("spec", _FIELDS[attempt.refused_by], *((taint.index,) if taint else ()))


def _flavor(cluster: ClusterIndex, name: str, pods: PodSet) -> kueue.Flavor | None:
    """Returns a flavor and how it fits the pods; None if the ResourceFlavor does not exist."""
    flavor = cluster.flavors.get(name)
    if flavor is None:
        return None
    taint, known = _untolerated(flavor, pods), flavor.labels
    # As in Kueue, requirements for labels that the flavor does not have are ignored.
    terms = [tuple(requirement for requirement in term if requirement.key in known) for term in node_terms(pods.pod)]
    return kueue.Flavor(
        name,
        has_topology=bool(flavor.topology),
        levels=flavor.levels,
        taint=str(taint) if taint else "",
        matches_selector=any(matches(term, known) for term in terms),
    )


def _untolerated(flavor: ResourceFlavor, pods: PodSet) -> Taint | None:
    """Returns the first taint of a flavor that neither the pods nor the flavor tolerate; None if all are tolerated."""
    return untolerated(flavor.taints, (*pods.tolerations, *flavor.tolerations))

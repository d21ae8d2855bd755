"""Kueue's choice of a flavor for the pods of some work, from the objects alone, while no other work holds quota."""

from __future__ import annotations

from typing import Any

from gpuc.diagnostics.finding import Path
from gpuc.kubernetes import flavor as kueue
from gpuc.kubernetes.amounts import PODS, Amounts
from gpuc.kubernetes.flavor import Attempt, Choice, Group
from gpuc.kubernetes.kueue import PREFERRED_TOPOLOGY, REQUIRED_TOPOLOGY, UNCONSTRAINED_TOPOLOGY
from gpuc.kubernetes.quota import Key
from gpuc.kubernetes.selector import matches
from gpuc.kubernetes.toleration import Taint, untolerated
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import dig, items, labels
from gpuc.objects.selectors import node_terms, taints, tolerations
from gpuc.trace.cluster_index import ClusterIndex
from gpuc.trace.quota import Node
from gpuc.trace.work import PodSet


def topology_level(notes: Any) -> str | None:
    """The node label of the level that pods ask to be close in; "" where any will do, None where they say nothing."""
    for key in (REQUIRED_TOPOLOGY, PREFERRED_TOPOLOGY):
        found = dig(notes, key)
        if isinstance(found, str):
            return found
    return "" if str(dig(notes, UNCONSTRAINED_TOPOLOGY)).lower() == "true" else None


def choose(
    site: ClusterIndex, queue: Node, pods: PodSet, asked: Amounts, used: dict[Key, int], only: str = ""
) -> Choice:
    """The flavors of one pod set in a ClusterQueue.

    Args:
        asked: what one pod asks for.
        used: what earlier pod sets of the same work take, by flavor and resource; grows by what is chosen.
        only: a flavor besides which none is looked at.
    """
    spec = dig(queue.manifest.body if queue.manifest else None, "spec")
    groups = [_group(group, only) for _, group in items(dig(spec, "resourceGroups"))]
    total = {name: count * pods.count for name, count in asked.items()}
    if any(PODS in group.resources for group in groups):
        total[PODS] = pods.count
    stops = dig(spec, "flavorFungibility", "whenCanBorrow") in (None, "Borrow", "MayStopSearch")
    met = kueue.Queue(queue, groups, _is_all_topology(site, queue), stops)
    return kueue.choose(met, total, topology_level(pods.notes), lambda name: _flavor(site, name, pods), used)


def place(site: ClusterIndex, queue: Node, pods: PodSet, attempt: Attempt) -> tuple[Manifest | None, Path]:
    """The object at fault and the path in it; where the flavor is taken, that of its quota in the ClusterQueue."""
    path = _path(queue, attempt.flavor)
    flavor = site.flavor(attempt.flavor)
    match attempt.obstacle:
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
    """Where a queue names a flavor; all of its resource groups where it does not."""
    groups: Path = ("spec", "resourceGroups")
    for g, group in items(dig(queue.manifest.body if queue.manifest else None, *groups)):
        for f, named in items(dig(group, "flavors")):
            if flavor and str(dig(named, "name")) == flavor:
                return (*groups, g, "flavors", f)
    return groups


def _group(group: Any, only: str) -> Group:
    names = (str(dig(flavor, "name")) for _, flavor in items(dig(group, "flavors")))
    covered = frozenset(str(name) for _, name in items(dig(group, "coveredResources")))
    return Group(covered, tuple(name for name in names if only in ("", name)))


def _flavor(site: ClusterIndex, name: str, pods: PodSet) -> kueue.Flavor | None:
    flavor = site.flavor(name)
    if flavor is None:
        return None
    topology, taint = site.topology(flavor), _untolerated(flavor, pods)
    levels = items(dig(topology.body if topology else None, "spec", "levels"))
    return kueue.Flavor(
        name,
        has_topology=_has_topology(flavor),
        levels=tuple(str(dig(level, "nodeLabel")) for _, level in levels),
        taint=str(taint) if taint else "",
        takes_labels=_takes_labels(flavor, pods),
    )


def _takes_labels(flavor: Manifest, pods: PodSet) -> bool:
    """Whether the pod's selectors fit the flavor's labels; only keys that the flavor has count."""
    own = labels(dig(flavor.body, "spec", "nodeLabels"))
    terms = [tuple(wanted for wanted in term if wanted.key in own) for term in node_terms(pods.pod)]
    return any(matches(term, own) for term in terms)


def _untolerated(flavor: Manifest | None, pods: PodSet) -> Taint | None:
    spec = dig(flavor.body if flavor else None, "spec")
    tolerated = (*tolerations(dig(pods.pod, "tolerations")), *tolerations(dig(spec, "tolerations")))
    return untolerated(taints(dig(spec, "nodeTaints")), tolerated)


def _has_topology(flavor: Manifest | None) -> bool:
    return flavor is not None and dig(flavor.body, "spec", "topologyName") is not None


def _is_all_topology(site: ClusterIndex, queue: Node) -> bool:
    known = site.all_topology.get(queue.name)
    if known is None:
        names = {flavor for flavor, _ in queue.quotas}
        known = bool(names) and all(_has_topology(site.flavor(name)) for name in names)
        site.all_topology[queue.name] = known
    return known

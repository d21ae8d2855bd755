"""Kueue's choice of a flavor for equal pods, from the objects alone, while nobody else holds quota.

Source: kubernetes-sigs/kueue v0.19.2 pkg/scheduler/flavorassigner/flavorassigner.go and tas_flavorassigner.go
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from gpuc.diagnostics.finding import Path
from gpuc.kubernetes.selector import matches
from gpuc.kubernetes.toleration import untolerated
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import dig, items, labels
from gpuc.objects.selectors import node_terms, taints, tolerations
from gpuc.trace.amounts import PODS, Amounts, text
from gpuc.trace.cluster_index import Site
from gpuc.trace.quota import Key, Node
from gpuc.trace.work import PodSet

Obstacle = Literal["resource", "flavor", "quota"]
REQUIRED = "kueue.x-k8s.io/podset-required-topology"
PREFERRED = "kueue.x-k8s.io/podset-preferred-topology"
UNCONSTRAINED = "kueue.x-k8s.io/podset-unconstrained-topology"


class Attempt(NamedTuple):
    """One flavor that was looked at."""

    flavor: str
    obstacle: Obstacle | None
    """Why it is not taken; None where the pods fit."""
    reasons: tuple[str, ...] = ()
    """In Kueue's words."""
    manifest: Manifest | None = None
    """The object at fault; the flavor where it is taken."""
    path: Path = ()
    """Of what is at fault; the flavor's quota in the ClusterQueue where it is taken."""
    distance: int = 0
    """How far quota has to be borrowed; 0 is the queue's own."""


@dataclass
class Choice:
    """What Kueue makes of equal pods."""

    flavors: dict[str, str] = field(default_factory=dict)
    """Flavor by resource; empty where they are refused."""
    attempts: list[Attempt] = field(default_factory=list)
    """All flavors that were looked at, and resources that no flavor covers."""
    borrowed: Amounts = field(default_factory=dict)

    @property
    def names(self) -> list[str]:
        """The flavors that were chosen, each once."""
        return list(dict.fromkeys(self.flavors.values()))


def topology_level(notes: Any) -> str | None:
    """The node label of the level that pods ask to be close in; "" where any will do, None where they say nothing."""
    for key in (REQUIRED, PREFERRED):
        found = dig(notes, key)
        if isinstance(found, str):
            return found
    return "" if str(dig(notes, UNCONSTRAINED)).lower() == "true" else None


def choose(site: Site, queue: Node, pods: PodSet, asked: Amounts, used: dict[Key, int], only: str = "") -> Choice:
    """The flavors of one pod set in a ClusterQueue.

    Args:
        asked: what one pod asks for.
        used: what earlier pod sets of the same work take, by flavor and resource; grows by what is chosen.
        only: a flavor besides which none is looked at.
    """
    spec = dig(queue.manifest.body if queue.manifest else None, "spec")
    groups = [(g, group, _covered(group)) for g, group in items(dig(spec, "resourceGroups"))]
    total = {name: count * pods.count for name, count in asked.items()}
    if any(PODS in covered for _, _, covered in groups):
        total[PODS] = pods.count
    choice = Choice()
    is_refused = False
    for name, count in total.items():
        if count and not any(name in covered for _, _, covered in groups):
            reason = f"resource {name} unavailable in ClusterQueue"
            path: Path = ("spec", "resourceGroups")
            choice.attempts.append(Attempt("", "resource", (reason,), queue.manifest, path))
            is_refused = True
    for g, group, covered in groups:
        wanted = {name: count for name, count in total.items() if name in covered}
        if not wanted:
            continue
        best = _best(site, queue, (g, group), pods, wanted, used, only, choice.attempts)
        if best is None:
            is_refused = True
            continue
        choice.flavors |= dict.fromkeys(wanted, best.flavor)
    if is_refused:
        choice.flavors = {}
    for name, flavor in choice.flavors.items():
        key = flavor, name
        used[key] = used.get(key, 0) + total[name]
        more = used[key] - (queue.quotas[key].nominal if key in queue.quotas else 0)
        if more > 0:
            choice.borrowed[name] = more
    return choice


def _best(
    site: Site, queue: Node, numbered: tuple[int, Any], pods: PodSet, wanted: Amounts, used: dict[Key, int], only: str,
    attempts: list[Attempt],
) -> Attempt | None:  # fmt: skip
    """The first flavor that fits without borrowing, else the one that borrows nearest, as fungibility says."""
    g, group = numbered
    fungibility = dig(queue.manifest.body if queue.manifest else None, "spec", "flavorFungibility")
    stops_at_borrowing = dig(fungibility, "whenCanBorrow") in (None, "Borrow", "MayStopSearch")
    best: Attempt | None = None
    for f, flavor in items(dig(group, "flavors")):
        name = str(dig(flavor, "name"))
        if only and name != only:
            continue
        path: Path = ("spec", "resourceGroups", g, "flavors", f)
        attempt = _attempt(site, queue, path, name, pods, wanted, used)
        attempts.append(attempt)
        if attempt.obstacle is None:
            if best is None or attempt.distance < best.distance:
                best = attempt
            if stops_at_borrowing or attempt.distance == 0:
                break
    return best


def _attempt(
    site: Site, queue: Node, path: Path, name: str, pods: PodSet, wanted: Amounts, used: dict[Key, int]
) -> Attempt:
    flavor = site.flavor(name)
    if flavor is None:
        return Attempt(name, "flavor", (f"flavor {name} not found",), queue.manifest, (*path, "name"))
    if reason := _topology_mismatch(site, queue, flavor, pods):
        return Attempt(name, "flavor", (reason,), flavor, ("spec", "topologyName"))
    spec = dig(flavor.body, "spec")
    taken = (*tolerations(dig(pods.pod, "tolerations")), *tolerations(dig(spec, "tolerations")))
    taint = untolerated(taints(dig(spec, "nodeTaints")), taken)
    if taint is not None:
        reason = f"untolerated taint {taint} in flavor {name}"
        return Attempt(name, "flavor", (reason,), flavor, ("spec", "nodeTaints", taint.index))
    if not _takes_labels(flavor, pods):
        return Attempt(name, "flavor", (f"flavor {name} doesn't match node affinity",), flavor, ("spec", "nodeLabels"))
    lacking = tuple(_lacking(queue, name, wanted, used))
    if lacking:
        return Attempt(name, "quota", tuple(reason for _, reason in lacking), queue.manifest, (*path, "resources"))
    distances = [queue.distance((name, each), used.get((name, each), 0) + count) for each, count in wanted.items()]
    return Attempt(name, None, (), flavor, path, max(distances, default=0))


def _takes_labels(flavor: Manifest, pods: PodSet) -> bool:
    """Whether the pod's selectors fit the flavor's labels; only keys that the flavor has count."""
    own = labels(dig(flavor.body, "spec", "nodeLabels"))
    terms = [tuple(wanted for wanted in term if wanted.key in own) for term in node_terms(pods.pod)]
    return any(matches(term, own) for term in terms)


def _topology_mismatch(site: Site, queue: Node, flavor: Manifest, pods: PodSet) -> str:
    level = topology_level(pods.notes)
    has_topology = dig(flavor.body, "spec", "topologyName") is not None
    if level is None:
        if has_topology and not _is_all_topology(site, queue):
            return f'Flavor "{flavor.name}" supports only TopologyAwareScheduling'
        return ""
    if not has_topology:
        return f'Flavor "{flavor.name}" does not support TopologyAwareScheduling'
    topology = site.topology(flavor)
    levels = [dig(each, "nodeLabel") for _, each in items(dig(topology.body if topology else None, "spec", "levels"))]
    if topology is not None and level and level not in levels:
        return f'Flavor "{flavor.name}" does not contain the requested level'
    return ""


def _is_all_topology(site: Site, queue: Node) -> bool:
    """Whether all flavors of a queue are scheduled by topology: then all of its work is, asked for or not."""
    known = site.all_topology.get(queue.name)
    if known is None:
        found = [site.flavor(name) for name in {flavor for flavor, _ in queue.quotas}]
        known = bool(found) and all(each and dig(each.body, "spec", "topologyName") is not None for each in found)
        site.all_topology[queue.name] = known
    return known


def _lacking(queue: Node, flavor: str, wanted: Amounts, used: dict[Key, int]) -> Iterator[tuple[str, str]]:
    for name, count in wanted.items():
        key = flavor, name
        before, most = used.get(key, 0), queue.capacity(key)
        if before + count > most:
            yield (
                name,
                f"insufficient quota for {name} in flavor {flavor}, previously considered podsets requests "
                f"({text(name, before)}) + current podset request ({text(name, count)}) > "
                f"maximum capacity ({text(name, most)})",
            )


def _covered(group: Any) -> frozenset[str]:
    return frozenset(str(each) for _, each in items(dig(group, "coveredResources")))

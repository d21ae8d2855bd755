"""What to change in some work so that a step lets it through, as far as the objects of the tree show it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gpuc.diagnostics.spelling import did_you_mean
from gpuc.kubernetes.amounts import Amounts
from gpuc.kubernetes.flavor import Attempt
from gpuc.kubernetes.kueue import PREFERRED_TOPOLOGY, REQUIRED_TOPOLOGY, UNCONSTRAINED_TOPOLOGY
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import dig
from gpuc.objects.selectors import node_terms
from gpuc.trace.cluster_index import KUEUE, ClusterIndex
from gpuc.trace.quota import Node
from gpuc.trace.work import PodSet, Work


def of_local_queue(site: ClusterIndex, work: Work) -> str:
    """Queues of the namespace, or namespaces of the queue."""
    known = site.tree.of(KUEUE, "LocalQueue")
    here = sorted(each.name for each in known if each.namespace == work.namespace)
    if here:
        return f"name {_one_of(here)}{did_you_mean(work.queue, here) if work.queue else ''}"
    spaces = sorted({each.namespace for each in known if each.name == work.queue})
    return f"submit it to {_one_of(spaces)}, where LocalQueue {work.queue} is" if spaces else ""


def of_name(name: str, known: Iterable[str]) -> str:
    """Names that there are instead of one that there is not."""
    names = sorted(known)
    return f"name {_one_of(names)}{did_you_mean(name, names)}" if names else ""


def of_resources(site: ClusterIndex, queue: Node, names: Iterable[str]) -> str:
    """Where resources can be had that a queue does not cover."""
    told = []
    for name in names:
        others = sorted({each.name for each in site.quotas.values() if _has(each, name) and each is not queue})
        where = f"ClusterQueue {_one_of(others)} has it" if others else "no queue has it"
        told.append(f"{name}: {where}")
    mine = sorted({resource for _, resource in queue.quotas})
    return f"ask only for {_list(mine)} ({'; '.join(told)})"


def of_flavor(site: ClusterIndex, queue: Node, pods: PodSet, attempts: Sequence[Attempt]) -> str:
    """Labels, tolerations or annotations with which a flavor would take the pods."""
    reasons = [reason for each in attempts for reason in each.reasons]
    if any("TopologyAwareScheduling" in reason or "requested level" in reason for reason in reasons):
        placed = [name for name in _flavors(queue) if _topology(site, name)]
        if any(key in pods.notes for key in (REQUIRED_TOPOLOGY, PREFERRED_TOPOLOGY, UNCONSTRAINED_TOPOLOGY)):
            with_topology = f", or select a flavor with a topology: {_list(placed)}" if placed else ""
            return f"leave out the annotation about topology, or name one of its levels{with_topology}"
        return f"ask for a topology by the annotation {PREFERRED_TOPOLOGY}"
    selected = {each.key for term in node_terms(pods.pod) for each in term}
    told = []
    for key in sorted(selected):
        values = [str(dig(flavor.body, "spec", "nodeLabels", key)) for flavor in _known(site, queue, key)]
        if values:
            told.append(f"{key} can be {_one_of(list(dict.fromkeys(values)))}")
    if told and any("node affinity" in reason for reason in reasons):
        return "; ".join(told)
    taint = next((reason for reason in reasons if reason.startswith("untolerated taint ")), "")
    return f"tolerate {taint.split()[2]}" if taint else ""


def of_quota(queue: Node, pods: PodSet, asked: Amounts, attempts: Sequence[Attempt]) -> str:
    """How many of the pods there is quota for, or flavors that have any of what they ask for."""
    short = [each.flavor for each in attempts if each.obstacle == "quota"]
    for flavor in short:
        most = _most(queue, flavor, asked)
        if most:
            return f"at most {most} such pods have quota in flavor {flavor} at the same time"
    others = [flavor for flavor in _flavors(queue) if flavor not in short and _most(queue, flavor, asked)]
    if others:
        return f"select flavor {_one_of(others)}, which has quota for it"
    bounds = [f"{name} in {flavor}" for flavor in short for name in asked if not queue.capacity((flavor, name))]
    return f"there is no quota of {_list(bounds)}" if bounds else "ask for less in each pod"


def _most(queue: Node, flavor: str, asked: Amounts) -> int:
    counts = [queue.capacity((flavor, name)) // count for name, count in asked.items() if count > 0]
    return min(counts, default=0)


def _has(queue: Node, resource: str) -> bool:
    return any(queue.capacity(key) > 0 for key in queue.quotas if key[1] == resource)


def _flavors(queue: Node) -> list[str]:
    return list(dict.fromkeys(flavor for flavor, _ in queue.quotas))


def _topology(site: ClusterIndex, flavor: str) -> bool:
    found = site.flavor(flavor)
    return found is not None and dig(found.body, "spec", "topologyName") is not None


def _known(site: ClusterIndex, queue: Node, key: str) -> list[Manifest]:
    """The flavors of a queue that have a label."""
    found = [site.flavor(name) for name in _flavors(queue)]
    return [each for each in found if each is not None and dig(each.body, "spec", "nodeLabels", key) is not None]


def _one_of(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"one of {_list(names)}"


def _list(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_SHOWN])
    return f"{shown} and {len(names) - _SHOWN} more" if len(names) > _SHOWN else shown


_SHOWN = 10

"""Fixes for a failed step: what to change in the workload, if the objects show it."""

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
from gpuc.trace.workload import PodSet, Workload

_MAX_NAMES = 10


def for_local_queue(cluster: ClusterIndex, workload: Workload) -> str:
    """The LocalQueues of the namespace, or the namespaces that have the LocalQueue."""
    known = cluster.objects.of(KUEUE, "LocalQueue")
    in_namespace = sorted(queue.name for queue in known if queue.namespace == workload.namespace)
    if in_namespace:
        suggestion = did_you_mean(workload.queue, in_namespace) if workload.queue else ""
        return f"use {_one_of(in_namespace)}{suggestion}"
    namespaces = sorted({queue.namespace for queue in known if queue.name == workload.queue})
    return f"submit it to {_one_of(namespaces)}, which has LocalQueue {workload.queue}" if namespaces else ""


def for_name(name: str, known: Iterable[str]) -> str:
    """The names that exist, in place of a name that does not."""
    names = sorted(known)
    return f"use {_one_of(names)}{did_you_mean(name, names)}" if names else ""


def for_resources(cluster: ClusterIndex, queue: Node, names: Iterable[str]) -> str:
    """The ClusterQueues that have the resources that a queue does not cover."""
    elsewhere = []
    for name in names:
        others = sorted({other.name for other in cluster.quotas.values() if _has(other, name) and other is not queue})
        where = f"ClusterQueue {_one_of(others)} has it" if others else "no ClusterQueue has it"
        elsewhere.append(f"{name}: {where}")
    own = sorted({resource for _, resource in queue.quotas})
    return f"request only {_list(own)} ({'; '.join(elsewhere)})"


def for_flavor(cluster: ClusterIndex, queue: Node, pods: PodSet, attempts: Sequence[Attempt]) -> str:
    """Labels, tolerations or annotations with which a flavor would fit the pods."""
    reasons = [reason for attempt in attempts for reason in attempt.reasons]
    if any("TopologyAwareScheduling" in reason or "requested level" in reason for reason in reasons):
        with_topology = [name for name in _flavors(queue) if _has_topology(cluster, name)]
        if any(key in pods.annotations for key in (REQUIRED_TOPOLOGY, PREFERRED_TOPOLOGY, UNCONSTRAINED_TOPOLOGY)):
            alternative = f", or select a flavor with a topology: {_list(with_topology)}" if with_topology else ""
            return f"remove the topology annotation, or use a level of the topology{alternative}"
        return f"add the annotation {PREFERRED_TOPOLOGY}"
    selected = {requirement.key for term in node_terms(pods.pod) for requirement in term}
    choices = []
    for key in sorted(selected):
        values = [
            str(dig(flavor.body, "spec", "nodeLabels", key)) for flavor in _flavors_with_label(cluster, queue, key)
        ]
        if values:
            choices.append(f"{key} can be {_one_of(list(dict.fromkeys(values)))}")
    if choices and any("node affinity" in reason for reason in reasons):
        return "; ".join(choices)
    taint = next((reason for reason in reasons if reason.startswith("untolerated taint ")), "")
    return f"tolerate {taint.split()[2]}" if taint else ""


def for_quota(queue: Node, pods: PodSet, requests: Amounts, attempts: Sequence[Attempt]) -> str:
    """The number of pods that have quota, or the flavors that have quota."""
    exceeded = [attempt.flavor for attempt in attempts if attempt.refused_by == "quota"]
    for flavor in exceeded:
        most = _max_pods(queue, flavor, requests)
        if most:
            return f"run at most {most} such pods at the same time in flavor {flavor}"
    others = [flavor for flavor in _flavors(queue) if flavor not in exceeded and _max_pods(queue, flavor, requests)]
    if others:
        return f"select flavor {_one_of(others)}, which has quota for it"
    missing = [f"{name} in {flavor}" for flavor in exceeded for name in requests if not queue.capacity((flavor, name))]
    return f"there is no quota of {_list(missing)}" if missing else "request less in one pod"


def _max_pods(queue: Node, flavor: str, requests: Amounts) -> int:
    counts = [queue.capacity((flavor, name)) // count for name, count in requests.items() if count > 0]
    return min(counts, default=0)


def _has(queue: Node, resource: str) -> bool:
    return any(queue.capacity(key) > 0 for key in queue.quotas if key[1] == resource)


def _flavors(queue: Node) -> list[str]:
    return list(dict.fromkeys(flavor for flavor, _ in queue.quotas))


def _has_topology(cluster: ClusterIndex, flavor: str) -> bool:
    found = cluster.flavor(flavor)
    return found is not None and dig(found.body, "spec", "topologyName") is not None


def _flavors_with_label(cluster: ClusterIndex, queue: Node, key: str) -> list[Manifest]:
    """The flavors of a queue that have a node label."""
    flavors = [cluster.flavor(name) for name in _flavors(queue)]
    return [
        flavor for flavor in flavors if flavor is not None and dig(flavor.body, "spec", "nodeLabels", key) is not None
    ]


def _one_of(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"one of {_list(names)}"


def _list(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_MAX_NAMES])
    return f"{shown} and {len(names) - _MAX_NAMES} more" if len(names) > _MAX_NAMES else shown

"""Fixes for failed checks of a trace: changes of the workload, if the objects show a value that works."""

from collections.abc import Iterable, Sequence

from gpuc.cluster.queue import Member
from gpuc.diagnostics.spelling import did_you_mean
from gpuc.diagnostics.words import first_names
from gpuc.kubernetes.amounts import Amounts
from gpuc.kubernetes.flavor import Attempt
from gpuc.kubernetes.kueue import GROUP, PREFERRED_TOPOLOGY, REQUIRED_TOPOLOGY, UNCONSTRAINED_TOPOLOGY
from gpuc.kubernetes.toleration import toleration_fix
from gpuc.objects.selectors import node_terms
from gpuc.trace.cluster_index import ClusterIndex
from gpuc.trace.workload import PodSet, Workload

_MAX_NAMES = 10


def for_local_queue(cluster: ClusterIndex, workload: Workload) -> str:
    """Returns a fix for a wrong queue name: the LocalQueues of the namespace, or else namespaces with LocalQueues.

    If other namespaces have a LocalQueue with the name, the fix names only these namespaces.
    """
    known = cluster.objects.of(GROUP, "LocalQueue")
    in_namespace = sorted(queue.name for queue in known if queue.namespace == workload.namespace)
    if in_namespace:
        return f"use {_one_of(in_namespace, 'LocalQueue')}{_suggestion(workload.queue, in_namespace)}"
    namespaces = sorted({queue.namespace for queue in known if queue.name == workload.queue})
    if namespaces:
        return f"create the workload in {_one_of(namespaces, 'namespace')} with LocalQueue {workload.queue}"
    others = sorted({queue.namespace for queue in known})
    where = _one_of(others, "namespace")
    return f"create the workload in {where}, with a LocalQueue of the namespace" if others else ""


def for_name(field: str, name: str, known: Iterable[str]) -> str:
    """Returns a fix for a name of an object that does not exist; empty if no object of the kind is known.

    Args:
        known: the names of existing objects.
    """
    names = sorted(known)
    return f"set {field} to {_one_of(names)}{_suggestion(name, names)}" if names else ""


def _suggestion(name: str, known: Sequence[str]) -> str:
    """Returns " (did you mean X?)" if there are several names to choose from; otherwise an empty string."""
    return did_you_mean(name, known) if name and len(known) > 1 else ""


def for_resources(cluster: ClusterIndex, queue: Member, names: Iterable[str]) -> str:
    """Returns a fix for resources that a ClusterQueue does not cover: the ClusterQueues that have quota for them."""
    elsewhere, rows = [], [other for other in cluster.quotas.values() if other is not queue]
    for name in names:
        others = sorted({row.name for row in rows for key in row.quotas if key[1] == name and row.capacity(key) > 0})
        owner = f"only {_one_of(others, 'ClusterQueue')}" if others else "no ClusterQueue"
        elsewhere.append(f"{owner} has quota of {name}")
    covered = sorted({resource for _, resource in queue.quotas})
    change = f"request only {first_names(covered, _MAX_NAMES)}"
    change = change if covered else f"use another ClusterQueue than {queue.name}"
    return f"{change}; {', and '.join(elsewhere)}"


def for_flavor(cluster: ClusterIndex, queue: Member, pods: PodSet, attempts: Sequence[Attempt]) -> str:
    """Returns a fix for pods that no flavor accepts: a change after which one flavor accepts them; empty if unknown."""
    reasons = [reason for attempt in attempts for reason in attempt.reasons]
    known = [flavor for name in queue.by_flavor if (flavor := cluster.flavors.get(name)) is not None]
    if any("TopologyAwareScheduling" in reason or "requested level" in reason for reason in reasons):
        with_topology = [flavor.name for flavor in known if flavor.topology]
        levels = ", ".join(dict.fromkeys(level for flavor in known if flavor.topology for level in flavor.levels))
        if any(key in pods.annotations for key in (REQUIRED_TOPOLOGY, PREFERRED_TOPOLOGY, UNCONSTRAINED_TOPOLOGY)):
            chosen = f", or select {_one_of(with_topology, 'flavor')} and one of the levels {levels}" if levels else ""
            return f"remove the topology annotation{chosen}"
        return f"add the annotation {PREFERRED_TOPOLOGY} with one of the levels {levels}" if levels else ""
    selected = {requirement.key for term in node_terms(pods.pod) for requirement in term}
    values = {key: dict.fromkeys(flavor.labels[key] for flavor in known if key in flavor.labels) for key in selected}
    choices = [f"in the node selector, set {key} to {_one_of([*values[key]])}" for key in sorted(values) if values[key]]
    if choices and any("node affinity" in reason for reason in reasons):
        return "; ".join(choices)
    tainted = [cluster.flavors[attempt.flavor] for attempt in attempts if attempt.refused_by == "taint"]
    fixes = (toleration_fix(flavor.taints, (*pods.tolerations, *flavor.tolerations)) for flavor in tainted)
    return next(fixes, "")


def for_quota(queue: Member, requests: Amounts, attempts: Sequence[Attempt]) -> str:
    """Returns a fix for too little quota: fewer pods at the same time, or flavors with enough quota for one pod."""
    exceeded = [attempt.flavor for attempt in attempts if attempt.refused_by == "quota"]
    for flavor in exceeded:
        if most := _max_pods(queue, flavor, requests):
            return f"run at most {most} such pods at the same time in flavor {flavor}"
    others = [flavor for flavor in queue.by_flavor if flavor not in exceeded and _max_pods(queue, flavor, requests)]
    if others:
        return f"select {_one_of(others, 'flavor')} with enough quota for one pod"
    without_quota = [
        f"{name} in flavor {flavor}" for flavor in exceeded for name in requests if not queue.capacity((flavor, name))
    ]
    if without_quota:
        return f"add quota of {first_names(without_quota, _MAX_NAMES)} to ClusterQueue {queue.name}"
    return "request less in one pod"


def _max_pods(queue: Member, flavor: str, requests: Amounts) -> int:
    """Returns the maximum number of pods for which a queue has quota of a flavor."""
    counts = [queue.capacity((flavor, name)) // count for name, count in requests.items() if count > 0]
    return min(counts, default=0)


def _one_of(names: Sequence[str], kind: str = "") -> str:
    """Returns the only name with its kind, "flavor a", or all names: "one of the flavors a, b"."""
    if len(names) == 1:
        return f"{kind} {names[0]}".lstrip()
    return f"one of {f'the {kind}s ' if kind else ''}{first_names(names, _MAX_NAMES)}"

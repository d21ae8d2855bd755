"""Rules of pods about their nodes and zones that depend on other pods: affinity, spreading, ports and those of a kind.

Source: k8s.io/kubernetes v1.35.4 pkg/scheduler/framework/plugins: interpodaffinity/filtering.go,
podtopologyspread/filtering.go, nodeports/node_ports.go
"""

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct

from gpuc.kubernetes.node_pool import CAPACITY_TYPE, HOSTNAME, ZONE, normal
from gpuc.kubernetes.selector import matches
from gpuc.objects.object_set import count_or, dig, items
from gpuc.objects.selectors import NODE_TERMS, selector
from gpuc.parts.workload_kinds import label_prefixes
from gpuc.trace.nodes import MatchingPool
from gpuc.trace.steps import Stage, Step
from gpuc.trace.workload import PodSet, Workload

_AFFINITY = "requiredDuringSchedulingIgnoredDuringExecution"
_UNJUDGED = {
    "nodeName": "the pods are bound to one node",
    "resourceClaims": "the nodes need devices for ResourceClaims",
    "schedulingGates": "the pods wait until a controller removes the gates",
}
"""Fields of a pod for which the trace does not decide whether nodes accept the pods."""


class Spread(Struct, frozen=True):
    """The limits of a number of equal pods that do not depend on resources."""

    per_node: int | None = None
    """The maximum number of pods on one node; None without a maximum."""
    at_most: int | None = None
    """The maximum number of pods on all nodes; None without a maximum."""
    on_one_node: bool = False
    """Whether all pods need the same node."""
    wants_per_node: int | None = None
    """The number of pods that Karpenter plans for one node at most, while the scheduler allows more."""
    unknown: str = ""
    """A field that the trace does not evaluate, with the reason; empty if all fields are evaluated."""


def unjudged_field(pods: PodSet) -> str:
    """Returns a field about nodes that the trace does not evaluate, with the reason; an empty string without one."""
    for key, reason in _UNJUDGED.items():
        if dig(pods.pod, key):
            return f"{key} of the pods: {reason}"
    if dig(pods.pod, "schedulerName") not in (None, "", "default-scheduler"):
        return f"schedulerName of the pods: scheduler {dig(pods.pod, 'schedulerName')} chooses the nodes"
    if any(dig(term, "matchFields") for _, term in items(dig(pods.pod, *NODE_TERMS))):
        return "matchFields of nodeAffinity: the pods select nodes by name"
    return ""


def spread(pods: PodSet, count: int, found: Sequence[MatchingPool]) -> Spread:
    """Returns the limits of pods on their nodes and zones.

    Args:
        count: the number of pods, of all replicas of the workload.
        found: the node pools that accept the pods.
    """
    pool_zones = [match.pool.listed(ZONE) for match in found]
    zones = frozenset[str]().union(*pool_zones) if all(pool_zones) else None
    rules = [*_affinity_rules(pods, count, zones), *_spread_rules(pods, count, pool_zones)]
    rules += [Spread(per_node=1)] if host_ports(pods.pod) else []
    return Spread(
        min((rule.per_node for rule in rules if rule.per_node is not None), default=None),
        min((rule.at_most for rule in rules if rule.at_most is not None), default=None),
        any(rule.on_one_node for rule in rules),
        min((rule.wants_per_node for rule in rules if rule.wants_per_node is not None), default=None),
        next((rule.unknown for rule in rules if rule.unknown), ""),
    )


def _affinity_rules(pods: PodSet, count: int, zones: frozenset[str] | None) -> Iterator[Spread]:
    """Yields the rules of required pod affinity and anti-affinity.

    Other workloads do not run yet, so the pods are only near to or away from each other.
    """
    for _, term in items(dig(pods.pod, "affinity", "podAntiAffinity", _AFFINITY)):
        is_own, key = _selects(dig(term, "labelSelector"), pods), normal(str(dig(term, "topologyKey")))
        if is_own is False or count == 1:
            continue
        if is_own is None or dig(term, "namespaces") or dig(term, "namespaceSelector") is not None:
            yield _unknown("podAntiAffinity", "the selected pods are not in the input")
        elif key == HOSTNAME:
            yield Spread(per_node=1)
        elif key == ZONE and zones is not None:
            yield Spread(at_most=len(zones))
        else:
            yield _unknown("podAntiAffinity", f"the input does not show the values of {key}")
    for _, term in items(dig(pods.pod, "affinity", "podAffinity", _AFFINITY)):
        is_own, key = _selects(dig(term, "labelSelector"), pods), normal(str(dig(term, "topologyKey")))
        if not is_own:
            yield _unknown("podAffinity", "the selected pods are not in the input")
        elif key == HOSTNAME:
            yield Spread(on_one_node=True)
        elif key not in (ZONE, CAPACITY_TYPE):
            yield _unknown("podAffinity", f"the input does not show the values of {key}")


def _spread_rules(pods: PodSet, count: int, pool_zones: Sequence[frozenset[str]]) -> Iterator[Spread]:
    """Yields the rules of topologySpreadConstraints that a node must meet."""
    for _, row in items(dig(pods.pod, "topologySpreadConstraints")):
        if dig(row, "whenUnsatisfiable") == "ScheduleAnyway":
            continue
        is_own, key = _selects(dig(row, "labelSelector"), pods), normal(str(dig(row, "topologyKey")))
        skew = count_or(dig(row, "maxSkew"), 1)
        if key not in (HOSTNAME, ZONE, CAPACITY_TYPE):
            # The scheduler refuses nodes without the label, also if the constraint does not count the pods themselves.
            yield _unknown("topologySpreadConstraints", f"the input does not show the values of {key}")
        elif is_own is False or (count == 1 and key in (HOSTNAME, ZONE)):
            continue
        elif is_own is None:
            yield _unknown("topologySpreadConstraints", "the labels of the pods are unknown")
        elif key == HOSTNAME:
            yield Spread(wants_per_node=skew)
        elif key == ZONE and (len(set(pool_zones)) == 1 or count <= skew):
            yield from _zone_rule(row, count, skew, len(pool_zones[0]) if pool_zones else 0)
        else:
            yield _unknown("topologySpreadConstraints", f"the values of {key} differ between node pools")


def _zone_rule(row: Any, count: int, skew: int, zones: int) -> Iterator[Spread]:
    """Yields the rule of minDomains: with fewer zones (0: unknown), every zone gets at most maxSkew pods."""
    domains = count_or(dig(row, "minDomains"), 1)
    if domains > 1 and zones == 0 and count > skew:
        yield _unknown("minDomains", "the input does not show the zones of the nodes")
    elif 0 < zones < domains:
        yield Spread(at_most=zones * skew)


def _unknown(field: str, reason: str) -> Spread:
    return Spread(unknown=f"the trace does not evaluate {field} of the pods: {reason}")


def _selects(raw: Any, pods: PodSet) -> bool | None:
    """Returns whether a LabelSelector selects the pods themselves; None if controllers can add a selected label."""
    wanted = selector(raw)
    if any(key and key not in pods.labels and key.startswith(label_prefixes()) for key, _ in wanted):
        return None
    return matches(wanted, pods.labels)


def host_ports(pod: Any) -> frozenset[tuple[str, int]]:
    """Returns the protocols and ports of the node that a pod uses. Two pods with the same port need different nodes."""
    containers = [row for _, row in items(dig(pod, "containers"))]
    containers += [row for _, row in items(dig(pod, "initContainers")) if dig(row, "restartPolicy") == "Always"]
    ports = [port for container in containers for _, port in items(dig(container, "ports"))]
    key = "containerPort" if dig(pod, "hostNetwork") is True else "hostPort"
    numbers = [(str(dig(port, "protocol") or "TCP"), dig(port, "hostPort") or dig(port, key)) for port in ports]
    return frozenset((protocol, number) for protocol, number in numbers if isinstance(number, int) and number > 0)


def used_port(match: MatchingPool, pod: Any) -> str:
    """Returns the DaemonSet that uses a port of the pod on all nodes of a pool, in words; or an empty string."""
    wanted = host_ports(pod)
    for pods in match.room.daemonset_pods if wanted else ():
        for protocol, number in sorted(wanted & host_ports(pods.spec)):
            return f"{pods.manifest} uses port {number} ({protocol}) of all nodes of node pool {match.pool.name}"
    return ""


def placement_step(workload: Workload, pods: PodSet) -> Step | None:
    """Returns a step with verdict "unknown" for a rule of the kind that the trace does not evaluate; else None."""
    if (rule := workload.record.traits.placement(workload.document, pods.path, pods.count)) is None:
        return None
    field, reason = rule
    return Step(Stage.NODE, "unknown", f"the trace does not evaluate {reason}", pods=pods.name, field=field)

"""Rules of pods that depend on other pods: affinity, spreading over zones or nodes, and host ports.

Source: k8s.io/kubernetes v1.35.4 pkg/scheduler/framework/plugins: interpodaffinity/filtering.go,
podtopologyspread/filtering.go, nodeports/node_ports.go, volumerestrictions/volume_restrictions.go
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from gpuc.diagnostics.finding import Path
from gpuc.diagnostics.words import counted, first_names
from gpuc.kubernetes.node_pool import HOSTNAME, normal
from gpuc.kubernetes.selector import matches
from gpuc.objects.object_set import count_or, dig, items
from gpuc.objects.selectors import NODE_TERMS, selector
from gpuc.parts.workload_kinds import label_prefixes
from gpuc.trace.cluster_index import ClusterIndex
from gpuc.trace.domains import Domains, domains, fits_evenly, most_per_node
from gpuc.trace.node_fields import VolumeTerms
from gpuc.trace.nodes import MatchingPool, PodDemand, max_pods
from gpuc.trace.steps import Stage, Step
from gpuc.trace.workload import PodSet, Workload

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_APART, _NEAR, _EVEN = "podAntiAffinity", "podAffinity", "topologySpreadConstraints"
_OTHER_PODS = "the selected pods are not in the input"
_MAX_NAMES = 3
_UNJUDGED = {
    "nodeName": "the pods are bound to one node",
    "resourceClaims": "the nodes need devices for ResourceClaims",
    "schedulingGates": "the pods wait until a controller removes the gates",
}
"""Fields of a pod for which the trace does not decide whether nodes accept the pods."""


class Refusal(NamedTuple):
    """Why a rule between pods, such as podAntiAffinity, keeps some pods from all nodes: a message and a fix."""

    message: str
    fix: str
    field: Path
    """The path in the spec of the pods."""


class Spread(Struct, frozen=True):
    """The effect of rules between pods, such as podAntiAffinity: at most N pods per node, or why some do not run."""

    per_node: int | None = None
    """The maximum number of pods on one node, apart from resources; None without a maximum."""
    refusal: Refusal | None = None
    unknown: str = ""
    """A field that the trace does not evaluate, with the reason; empty if all fields are evaluated."""


class _Rule(NamedTuple):
    """A term of required affinity or a constraint that a node must meet."""

    name: str
    """The name of the field that has the rule."""
    row: Any
    """The rule, unvalidated."""
    field: Path
    """The path in the spec of the pods."""
    key: str
    """The label of the nodes."""
    is_own: bool | None
    """Whether the rule selects the pods themselves; None if that is unknown."""

    def unknown(self, reason: str) -> Spread:
        """Returns a Spread which says that the trace does not evaluate this rule, for the given reason."""
        return Spread(unknown=f"the trace does not evaluate {self.name} of the pods: {reason}")

    def refuses(self, count: int, most: int, why: str, fix: str = "") -> Spread:
        """Returns a Spread with a refusal if `count` pods are more than `most`; otherwise a Spread without limits."""
        if count <= most:
            return Spread()
        message = f"{self.name} over {self.key} allows at most {most} of {count} pods: {why}"
        return Spread(refusal=Refusal(message, fix or f"run at most {most} such pods", self.field))


def unjudged_field(pods: PodSet) -> str:
    """Returns a field that selects nodes but that the trace does not evaluate, with the reason; otherwise empty."""
    for key, reason in _UNJUDGED.items():
        if dig(pods.pod, key):
            return f"{key} of the pods: {reason}"
    if dig(pods.pod, "schedulerName") not in (None, "", "default-scheduler"):
        return f"schedulerName of the pods: scheduler {dig(pods.pod, 'schedulerName')} chooses the nodes"
    if any(dig(term, "matchFields") for _, term in items(dig(pods.pod, *NODE_TERMS))):
        return "matchFields of nodeAffinity: the pods select nodes by name"
    return ""


def spread(
    cluster: ClusterIndex, pods: PodSet, demand: PodDemand, found: Sequence[MatchingPool], beside: Sequence[PodDemand]
) -> Spread:
    """Returns the effect of rules between pods, such as podAntiAffinity, on the pods of a workload.

    The trace assumes that no other workload runs, so the rules concern only the pods themselves.

    Args:
        demand: the pods of all replicas of the workload.
        found: the node pools that accept the pods.
        beside: the other pods of the workload that these node pools accept.
    """
    rules = list(_rules(pods))
    on_hosts = [rule for rule in rules if rule.key == HOSTNAME]
    parts = [Spread(per_node=1)] if host_ports(pods.pod) else []
    parts += [_on_host(rule, demand, found) for rule in on_hosts if rule.name != _NEAR]
    per_node = min((part.per_node for part in parts if part.per_node is not None), default=None)
    narrow = replace(demand, per_node=per_node)
    taken = sum(row.count * _places(row, demand) for row in beside)
    parts += [_on_one_host(rule, narrow, found, on_hosts, taken) for rule in on_hosts if rule.name == _NEAR]
    together = {rule.key for rule in rules if rule.name == _NEAR and rule.is_own}
    others = (rule for rule in rules if rule.key != HOSTNAME)
    parts += [_on_domain(cluster, rule, narrow, found, bool(together & {rule.key, HOSTNAME})) for rule in others]
    return Spread(
        per_node,
        next((part.refusal for part in parts if part.refusal), None),
        next((part.unknown for part in parts if part.unknown), ""),
    )


def keys_apart(pods: PodSet) -> set[str]:
    """Returns the node labels by whose values rules of the pods keep, or may keep, these pods apart."""
    keys = {rule.key for rule in _rules(pods) if rule.name != _NEAR and rule.is_own is not False}
    return keys | ({HOSTNAME} if host_ports(pods.pod) else set())


def with_volumes(spreading: Spread, pods: PodSet, count: int, volumes: VolumeTerms) -> Spread:
    """Returns a Spread with the effect of the volumes that several pods share."""
    unknown, refusal = volumes.unknown or spreading.unknown, spreading.refusal
    if count > 1 and (volumes.holders or "ReadWriteOnce" in volumes.modes) and keys_apart(pods):
        unknown = unknown or "the trace does not evaluate rules that keep pods with the same volume apart"
    if count > 1 and "ReadWriteOncePod" in volumes.modes:
        message = f"access mode ReadWriteOncePod of a volume allows at most 1 of {count} pods"
        refusal = Refusal(message, "use a claim with another access mode", ("volumes",))
    return replace(spreading, unknown=unknown, refusal=refusal)


def _rules(pods: PodSet) -> Iterator[_Rule]:
    for name in (_APART, _NEAR):
        for index, row in items(dig(pods.pod, "affinity", name, _REQUIRED)):
            yield _rule(name, row, ("affinity", name, _REQUIRED, index), pods)
    for index, row in items(dig(pods.pod, _EVEN)):
        if dig(row, "whenUnsatisfiable") != "ScheduleAnyway":
            yield _rule(_EVEN, row, (_EVEN, index), pods)


def _rule(name: str, row: Any, field: Path, pods: PodSet) -> _Rule:
    is_own = _selects(row, pods)
    if name != _EVEN and is_own is not False and (dig(row, "namespaces") or dig(row, "namespaceSelector") is not None):
        is_own = None
    return _Rule(name, row, field, normal(str(dig(row, "topologyKey"))), is_own)


def _places(other: PodDemand, demand: PodDemand) -> int:
    """Returns for how many pods a node has less room with another pod."""
    return max([1, *(-(-amount // own) for name, amount in other.pod.items() if (own := demand.pod.get(name, 0)))])


def _on_one_host(
    rule: _Rule, demand: PodDemand, found: Sequence[MatchingPool], rules: Sequence[_Rule], taken: int
) -> Spread:
    """Returns what an affinity over hostnames allows. Karpenter also counts at most maxSkew pods for one node."""
    largest = most_per_node(found, demand)
    if not rule.is_own:
        return rule.unknown(_OTHER_PODS)
    if demand.count > largest > 0:
        return rule.refuses(demand.count, largest, "all pods need one node")
    if demand.count + taken > largest > 0:
        return rule.unknown("other pods of the workload can take room on the node that all of them need")
    skews = [count_or(dig(row.row, "maxSkew"), 1) for row in rules if row.name == _EVEN and row.is_own]
    is_spread = any(skew < demand.count for skew in skews)
    return rule.unknown(f"{_EVEN} over {rule.key} contradicts it") if is_spread else Spread()


def _on_host(rule: _Rule, demand: PodDemand, found: Sequence[MatchingPool]) -> Spread:
    """Returns what a rule over hostnames allows. Karpenter spreads pods over new nodes, up to maxSkew on each."""
    count = demand.count
    if rule.is_own is False or count == 1:
        return Spread()
    if rule.is_own is None:
        return rule.unknown(_OTHER_PODS)
    if rule.name == _APART:
        return Spread(per_node=1)
    skew, least = count_or(dig(rule.row, "maxSkew"), 1), count_or(dig(rule.row, "minDomains"), 1)
    nodes = sum(max_pods(match, replace(demand, per_node=1)) for match in found)
    if nodes < least and count > nodes * skew:
        why = f"minDomains is {least}, and the node pools have at most {counted(nodes, 'node')}"
        return rule.refuses(count, nodes * skew, why)
    room = sum(max_pods(match, replace(demand, per_node=min(skew, demand.per_node or skew))) for match in found)
    return rule.unknown("node pools have a limit") if room < count else Spread()


def _on_domain(
    cluster: ClusterIndex, rule: _Rule, demand: PodDemand, found: Sequence[MatchingPool], is_one: bool
) -> Spread:
    """Returns what a rule over the values of another label allows.

    Args:
        is_one: whether an affinity keeps all pods on nodes with the same value.
    """
    is_idle = rule.is_own is False or demand.count == 1
    if rule.name == _APART and is_idle:
        return Spread()
    if (rule.is_own is None and not is_idle) or (rule.name == _NEAR and not rule.is_own):
        return rule.unknown(_OTHER_PODS)
    honors = dig(rule.row, "nodeTaintsPolicy") == "Honor"
    known = domains(cluster, demand, found, rule.key, honors_taints=honors) if found else None
    if known is None:
        return rule.unknown(f"the input does not show the values of {rule.key}")
    if is_idle:
        return Spread()
    checks = {_NEAR: _near, _APART: _apart, _EVEN: _even}
    return checks[rule.name](rule, demand, known, 1 if is_one else known.number)


def _apart(rule: _Rule, demand: PodDemand, known: Domains, number: int | None) -> Spread:
    """Returns what an anti-affinity allows, with which every pod needs nodes with another value."""
    if number is None:
        return rule.unknown(f"the input does not show the values of {rule.key}")
    return rule.refuses(demand.count, number, f"the nodes have {counted(number, 'value')}, one for each pod")


def _near(rule: _Rule, demand: PodDemand, known: Domains, _: int | None) -> Spread:
    """Returns what an affinity allows that needs nodes with the same value for all pods."""
    if known.may_be_uneven:
        return rule.unknown(f"the input does not show the number of nodes for each value of {rule.key}")
    most = max(sum(max_pods(match, demand) for match in row) for row in known.usable.values())
    return rule.refuses(demand.count, most, f"all pods need nodes with the same {rule.key}")


def _even(rule: _Rule, demand: PodDemand, known: Domains, number: int | None) -> Spread:
    """Returns what a spread constraint allows over the values of a label.

    Every value gets at most maxSkew pods in two cases: there are fewer values than minDomains, or Karpenter counts a
    value that has no node for the pods. In the second case, the scheduler does not count this value. So more pods can
    run on the nodes that Karpenter starts for the first pods.
    """
    count, skew = demand.count, count_or(dig(rule.row, "maxSkew"), 1)
    each = f"at most {counted(skew, 'pod')}"
    if count <= skew:
        return Spread()
    least = count_or(dig(rule.row, "minDomains"), 1)
    if dig(rule.row, "nodeAffinityPolicy") == "Ignore":
        return rule.unknown("nodeAffinityPolicy Ignore counts nodes of other pods")
    if least > 1 and not known.are_all_known:
        return rule.unknown(f"minDomains needs the values of {rule.key}, which the input does not show")
    values = len(known.usable) + len(known.others)
    if least > values:
        why = f"minDomains is {least}, and the nodes have {counted(values, 'value')}, with {each} each"
        return rule.refuses(count, skew * (number or 1), why, f"set minDomains to {values}")
    others = known.others or ([*known.usable][1:] if number == 1 else [])
    if others and (number is None or count > skew * number):
        shown = first_names(others, _MAX_NAMES)
        why = f"the pods get no node with {shown}, so that Karpenter gives each other value {each}"
        most = (number or 0) * skew * most_per_node([match for row in known.usable.values() for match in row], demand)
        return rule.refuses(count, most, why) if 0 < most < count and known.are_all_known else rule.unknown(why)
    if known.may_be_uneven:
        return rule.unknown(f"the input does not show the number of nodes for each value of {rule.key}")
    return Spread() if fits_evenly(known, demand) else rule.unknown("node pools have a limit")


def _selects(row: Any, pods: PodSet) -> bool | None:
    """Returns whether a rule selects the pods themselves; None if controllers can add a label of it, but no hash."""
    if any(isinstance(key, str) and key in pods.labels for _, key in items(dig(row, "mismatchLabelKeys"))):
        return False
    wanted = selector(dig(row, "labelSelector"))
    shared = (str(key) for _, key in items(dig(row, "matchLabelKeys")) if not str(key).endswith("-hash"))
    keys = [*(key for key, _ in wanted if key), *(shared if matches(wanted, pods.labels) else ())]
    if any(key not in pods.labels and key.startswith(label_prefixes()) for key in keys):
        return None
    return matches(wanted, pods.labels)


def host_ports(pod: Any) -> frozenset[tuple[str, int]]:
    """Returns the protocols and host ports that a pod uses. Two pods with the same host port need different nodes."""
    containers = [row for _, row in items(dig(pod, "containers"))]
    containers += [row for _, row in items(dig(pod, "initContainers")) if dig(row, "restartPolicy") == "Always"]
    ports = [port for container in containers for _, port in items(dig(container, "ports"))]
    key = "containerPort" if dig(pod, "hostNetwork") is True else "hostPort"
    numbers = [(str(dig(port, "protocol") or "TCP"), dig(port, "hostPort") or dig(port, key)) for port in ports]
    return frozenset((protocol, number) for protocol, number in numbers if isinstance(number, int) and number > 0)


def used_port(match: MatchingPool, pod: Any) -> str:
    """Returns the DaemonSet that uses a host port of the pod on all nodes of a pool, as text; otherwise empty."""
    wanted = host_ports(pod)
    for pods in match.room.daemonset_pods if wanted else ():
        for protocol, number in sorted(wanted & host_ports(pods.spec)):
            return f"{pods.manifest} uses port {number} ({protocol}) of all nodes of node pool {match.pool.name}"
    return ""


def placement_step(workload: Workload, pods: PodSet) -> Step | None:
    """Returns a check with verdict "unknown" if the workload's kind has a rule for placing pods; otherwise None."""
    if (rule := workload.record.traits.placement(workload.document, pods.path, pods.count)) is None:
        return None
    field, reason = rule
    return Step(Stage.NODE, "unknown", f"the trace does not evaluate {reason}", pods=pods.name, field=field)

"""Names on the pod network: isolated pods that no policy lets ask the cluster's DNS."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from gpuc.diagnostics.finding import Path, Severity, declare_rule
from gpuc.isolation.dns_servers import CACHE, HOME, LABELS, PORT, PROTOCOLS, Servers
from gpuc.isolation.summarize import few
from gpuc.isolation.tenancy import TENANT_LABEL
from gpuc.kubernetes.network_policy import EGRESS, INGRESS, TrafficRule
from gpuc.kubernetes.ports import ALL
from gpuc.kubernetes.selector import matches
from gpuc.manifest.manifest import Manifest
from gpuc.objects.network_policies import GROUP, OTHER_KINDS, Policy, read_policies
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import ObjectSet, dig, group
from gpuc.objects.pods import Pods, pods

NO_DNS = declare_rule(
    "ISO005",
    Severity.WARNING,
    "Pods are isolated, and no policy lets them reach the cluster's DNS.",
    "Every lookup of a name times out: work starts, finds neither its data nor its peers, and holds its GPUs. Short "
    "answers come by UDP, long ones by TCP.",
    source="kubernetes.io/docs/concepts/services-networking/network-policies and dns-pod-service",
)
Place = tuple[Manifest, Path]


def findings(tree: ObjectSet) -> Iterator[ObjectFinding]:
    """One finding per namespace whose pods find no names, at the rule that was to let them or at what isolates them."""
    if any(each.kind in OTHER_KINDS.get(group(each), ()) for each in tree.manifests) or _makes_policies(tree):
        return
    standing: dict[str, list[Policy]] = defaultdict(list)
    for policy in read_policies(tree.of(GROUP, "NetworkPolicy")):
        standing[policy.namespace].append(policy)
    judge = _Judge(tree, Servers(tree))
    shut_out: dict[int, tuple[Policy, list[str]]] = {}
    for namespace, working in _working(tree).items():
        outward = [policy for policy in standing.get(namespace, ()) if EGRESS in policy.rules]
        finding = next((each for labels in working if (each := judge.outward(namespace, labels, outward))), None)
        if finding is not None:
            yield finding
        elif (gate := judge.shutting(namespace, standing.get(HOME, []))) is not None:
            shut_out.setdefault(id(gate), (gate, []))[1].append(namespace)
    for gate, namespaces in shut_out.values():
        text = f"it isolates the servers of the cluster's DNS, and no policy lets pods of {few(namespaces)} in"
        yield ObjectFinding(NO_DNS, gate.manifest, ("spec", "podSelector"), f"{text} on port {PORT}")


def _working(tree: ObjectSet) -> dict[str, list[Mapping[str, str]]]:
    """Namespaces whose pods ask the cluster for names: the labels of such pods, none for those that users make."""
    found: dict[str, list[Mapping[str, str]]] = {}
    for queue in tree.of("kueue.x-k8s.io", "LocalQueue"):
        found.setdefault(queue.namespace, [{}])
    for name, labels in tree.namespaces.items():
        if labels.get(TENANT_LABEL):
            found.setdefault(name, [{}])
    for each in pods(tree):
        if _asks(each):
            found.setdefault(each.manifest.namespace, []).append(each.labels)
    return found


def _asks(each: Pods) -> bool:
    """Whether pods ask the cluster's DNS over the pod network.

    Source: k8s.io/api v0.35 core/v1, PodSpec.dnsPolicy: "Default" and "None" are other servers
    """
    if not isinstance(each.spec, dict) or each.spec.get("hostNetwork") is True:
        return False
    return dig(each.spec, "dnsPolicy") in (None, "ClusterFirst")


def _makes_policies(tree: ObjectSet) -> bool:
    """Whether a Kyverno policy makes NetworkPolicies, which then stand in no file."""
    return any("NetworkPolicy" in str(each.body) for each in tree.of("kyverno.io", "ClusterPolicy"))


@dataclass(frozen=True)
class _Judge:
    tree: ObjectSet
    servers: Servers

    def outward(self, namespace: str, labels: Mapping[str, str], policies: Sequence[Policy]) -> ObjectFinding | None:
        """What is wrong for a pod with these labels; None where it reaches the DNS, or nothing isolates it.

        Of a part of a cluster, pods may have labels that do not stand there: any policy of the namespace counts.
        """
        isolating = [policy for policy in policies if matches(policy.pods, labels)]
        counted = isolating if self.tree.is_complete else policies
        if not isolating or not self._may_call(namespace, counted):
            return None
        rules = [(policy, rule) for policy in counted for rule in policy.rules[EGRESS]]
        by_pods = [rule for policy, rule in rules if self.servers.in_rule(rule, policy.namespace)]
        by_cache = [rule for _, rule in rules if self.servers.cache_in_rule(rule)]
        missing = [one for one in PROTOCOLS if not any(self.servers.on_port(rule, one) for rule in by_pods + by_cache)]
        astray = self._astray(rules)
        if not missing and (astray is None or any(self.servers.on_port(rule, "UDP") for rule in by_pods)):
            return None
        plain = _isolating(isolating)
        manifest, path = astray or self._lacking(rules) or plain
        ports = " and ".join(f"{protocol} {PORT}" for protocol in missing or PROTOCOLS)
        left = "" if missing else f"; they are left with a cache at {CACHE}, where their node has one"
        isolated = f"{plain[0]} isolates pods of namespace {namespace}"
        reached = f"no policy lets them reach the cluster's DNS, pods k8s-app: kube-dns of {HOME}, on {ports}"
        return ObjectFinding(NO_DNS, manifest, path, f"{isolated}, and {reached}{left}")

    def _may_call(self, namespace: str, policies: Sequence[Policy]) -> bool:
        """Whether pods are to call anybody at all: a sandbox, or a server that is only called, needs no names."""
        is_used = self.tree.is_complete or namespace in self._queued
        return is_used or any(policy.rules[EGRESS] for policy in policies)

    @cached_property
    def _queued(self) -> frozenset[str]:
        return frozenset(each.namespace for each in self.tree.of("kueue.x-k8s.io", "LocalQueue"))

    def _astray(self, rules: Sequence[tuple[Policy, TrafficRule]]) -> Place | None:
        """A peer of a rule for port 53 that is pods, and none of the DNS."""
        for policy, rule in rules:
            for peer in rule.peers if _speaks_of_dns(rule) else ():
                if peer.block is None and not self.servers.in_peer(peer, policy.namespace):
                    return policy.manifest, peer.path
        return None

    def _lacking(self, rules: Sequence[tuple[Policy, TrafficRule]]) -> Place | None:
        """A rule for port 53 that lacks a protocol, or whose addresses are nobody's who answers here."""
        for policy, rule in rules:
            if _speaks_of_dns(rule):
                leads = self.servers.in_rule(rule, policy.namespace) or self.servers.cache_in_rule(rule)
                return policy.manifest, (*rule.path, "ports") if leads else rule.peers[0].path
        return None

    def shutting(self, namespace: str, policies: Sequence[Policy]) -> Policy | None:
        """The policy that keeps pods of a namespace from the DNS at its own end; None where nothing does."""
        isolating = [policy for policy in policies if INGRESS in policy.rules and matches(policy.pods, LABELS)]
        is_let_in = namespace == HOME or any(
            not rule.peers or any(self.servers.takes_callers(peer, namespace) for peer in rule.peers)
            for policy in isolating
            for rule in policy.rules[INGRESS]
            if self.servers.on_port(rule, "UDP")
        )
        return isolating[0] if isolating and not is_let_in else None


def _isolating(policies: Sequence[Policy]) -> Place:
    """The policy that isolates most plainly: the one with the fewest exceptions."""
    manifest = min(policies, key=lambda policy: len(policy.rules[EGRESS])).manifest
    key = next((key for key in ("policyTypes", EGRESS) if dig(manifest.body, "spec", key)), "podSelector")
    return manifest, ("spec", key)


def _speaks_of_dns(rule: TrafficRule) -> bool:
    return rule.ports != ALL and any(span.low == span.high == PORT or "dns" in span.name for span in rule.ports)

"""DNS check: isolated pods need a NetworkPolicy that allows the cluster's DNS servers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from gpuc.diagnostics.finding import Path, Severity, declare_rule
from gpuc.isolation.dns_servers import CACHE, DNS_NAMESPACE, LABELS, PORT, PROTOCOLS, Servers
from gpuc.isolation.short_list import short_list
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
    "Pods are isolated, and no policy allows the cluster's DNS.",
    "Every DNS lookup times out: the workload starts, cannot find its data or its peers, and still occupies its GPUs. "
    "DNS uses UDP, and TCP for long answers.",
    source="kubernetes.io/docs/concepts/services-networking/network-policies and dns-pod-service",
)
Place = tuple[Manifest, Path]


def findings(objects: ObjectSet) -> Iterator[ObjectFinding]:
    """One finding for every namespace without DNS, at the incomplete rule or at the policy that isolates its pods."""
    if any(
        manifest.kind in OTHER_KINDS.get(group(manifest), ()) for manifest in objects.manifests
    ) or _generates_policies(objects):
        return
    policies_of: dict[str, list[Policy]] = defaultdict(list)
    for policy in read_policies(objects.of(GROUP, "NetworkPolicy")):
        policies_of[policy.namespace].append(policy)
    check = _DnsCheck(objects, Servers(objects))
    blocked: dict[int, tuple[Policy, list[str]]] = {}
    for namespace, pod_labels in _dns_clients(objects).items():
        egress = [policy for policy in policies_of.get(namespace, ()) if EGRESS in policy.rules]
        finding = next(
            (found for labels in pod_labels if (found := check.egress_finding(namespace, labels, egress))), None
        )
        if finding is not None:
            yield finding
        elif (blocker := check.ingress_blocker(namespace, policies_of.get(DNS_NAMESPACE, []))) is not None:
            blocked.setdefault(id(blocker), (blocker, []))[1].append(namespace)
    for blocker, namespaces in blocked.values():
        names = short_list(namespaces)
        message = f"it isolates the cluster's DNS servers, and no policy allows pods of {names} on port {PORT}"
        yield ObjectFinding(NO_DNS, blocker.manifest, ("spec", "podSelector"), message)


def _dns_clients(objects: ObjectSet) -> dict[str, list[Mapping[str, str]]]:
    """The labels of pods that use the cluster's DNS, by namespace; empty labels stand for pods that users create."""
    found: dict[str, list[Mapping[str, str]]] = {}
    for queue in objects.of("kueue.x-k8s.io", "LocalQueue"):
        found.setdefault(queue.namespace, [{}])
    for name, labels in objects.namespaces.items():
        if labels.get(TENANT_LABEL):
            found.setdefault(name, [{}])
    for template in pods(objects):
        if _uses_cluster_dns(template):
            found.setdefault(template.manifest.namespace, []).append(template.labels)
    return found


def _uses_cluster_dns(template: Pods) -> bool:
    """Whether pods use the cluster's DNS over the pod network.

    Source: k8s.io/api v0.35 core/v1, PodSpec.dnsPolicy: "Default" and "None" use other servers
    """
    if not isinstance(template.spec, dict) or template.spec.get("hostNetwork") is True:
        return False
    return dig(template.spec, "dnsPolicy") in (None, "ClusterFirst")


def _generates_policies(objects: ObjectSet) -> bool:
    """Whether a Kyverno policy generates NetworkPolicies, which are then not among the objects."""
    return any("NetworkPolicy" in str(policy.body) for policy in objects.of("kyverno.io", "ClusterPolicy"))


@dataclass(frozen=True)
class _DnsCheck:
    objects: ObjectSet
    servers: Servers

    def egress_finding(
        self, namespace: str, labels: Mapping[str, str], policies: Sequence[Policy]
    ) -> ObjectFinding | None:
        """The finding for a pod with these labels; None if the pod can use the DNS or is not isolated.

        In a partial object set, pods can have unknown labels, so every policy of the namespace counts.
        """
        isolating = [policy for policy in policies if matches(policy.pods, labels)]
        counted = isolating if self.objects.is_complete else policies
        if not isolating or not self._needs_dns(namespace, counted):
            return None
        rules = [(policy, rule) for policy in counted for rule in policy.rules[EGRESS]]
        by_pods = [rule for policy, rule in rules if self.servers.in_rule(rule, policy.namespace)]
        by_cache = [rule for _, rule in rules if self.servers.cache_in_rule(rule)]
        missing = [
            protocol
            for protocol in PROTOCOLS
            if not any(self.servers.on_port(rule, protocol) for rule in by_pods + by_cache)
        ]
        wrong_peer = self._wrong_peer(rules)
        if not missing and (wrong_peer is None or any(self.servers.on_port(rule, "UDP") for rule in by_pods)):
            return None
        isolation = _isolating(isolating)
        manifest, path = wrong_peer or self._incomplete_rule(rules) or isolation
        ports = " and ".join(f"{protocol} {PORT}" for protocol in missing or PROTOCOLS)
        cache = "" if missing else f"; they can use only the node's cache at {CACHE}, if there is one"
        servers = f"the DNS pods (k8s-app: kube-dns in {DNS_NAMESPACE})"
        message = f"{isolation[0]} isolates pods of {namespace}, and no policy allows {servers} on {ports}{cache}"
        return ObjectFinding(NO_DNS, manifest, path, message)

    def _needs_dns(self, namespace: str, policies: Sequence[Policy]) -> bool:
        """Whether pods open connections: a sandbox, or a server without egress, does not need DNS."""
        has_workloads = self.objects.is_complete or namespace in self._queued
        return has_workloads or any(policy.rules[EGRESS] for policy in policies)

    @cached_property
    def _queued(self) -> frozenset[str]:
        return frozenset(queue.namespace for queue in self.objects.of("kueue.x-k8s.io", "LocalQueue"))

    def _wrong_peer(self, rules: Sequence[tuple[Policy, TrafficRule]]) -> Place | None:
        """A peer of a rule for port 53 that selects pods, but no DNS pods; None if there is none."""
        for policy, rule in rules:
            for peer in rule.peers if _is_for_dns(rule) else ():
                if peer.block is None and not self.servers.in_peer(peer, policy.namespace):
                    return policy.manifest, peer.path
        return None

    def _incomplete_rule(self, rules: Sequence[tuple[Policy, TrafficRule]]) -> Place | None:
        """A rule for port 53 without one of the protocols, or without an address of a DNS server; None if none."""
        for policy, rule in rules:
            if _is_for_dns(rule):
                includes_dns = self.servers.in_rule(rule, policy.namespace) or self.servers.cache_in_rule(rule)
                return policy.manifest, (*rule.path, "ports") if includes_dns else rule.peers[0].path
        return None

    def ingress_blocker(self, namespace: str, policies: Sequence[Policy]) -> Policy | None:
        """The policy of the DNS pods that blocks pods of a namespace; None if the DNS pods accept them."""
        isolating = [policy for policy in policies if INGRESS in policy.rules and matches(policy.pods, LABELS)]
        is_allowed = namespace == DNS_NAMESPACE or any(
            not rule.peers or any(self.servers.accepts_clients(peer, namespace) for peer in rule.peers)
            for policy in isolating
            for rule in policy.rules[INGRESS]
            if self.servers.on_port(rule, "UDP")
        )
        return isolating[0] if isolating and not is_allowed else None


def _isolating(policies: Sequence[Policy]) -> Place:
    """The isolating policy with the fewest rules, and the path that makes it isolate egress."""
    manifest = min(policies, key=lambda policy: len(policy.rules[EGRESS])).manifest
    key = next((key for key in ("policyTypes", EGRESS) if dig(manifest.body, "spec", key)), "podSelector")
    return manifest, ("spec", key)


def _is_for_dns(rule: TrafficRule) -> bool:
    return rule.ports != ALL and any(span.low == span.high == PORT or "dns" in span.name for span in rule.ports)

"""DNS check: isolated pods need a NetworkPolicy that allows the cluster's DNS servers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from gpuc.diagnostics.finding import Path, Severity, declare_rule
from gpuc.diagnostics.words import short_list, with_kind
from gpuc.isolation.dns_servers import CACHE, DNS_NAMESPACE, LABELS, PORT, PROTOCOLS, DnsServers
from gpuc.isolation.tenancy import TENANT_LABEL
from gpuc.kubernetes.network_policy import EGRESS, INGRESS, TrafficRule
from gpuc.kubernetes.ports import ALL
from gpuc.kubernetes.selector import matches
from gpuc.manifest.manifest import Manifest
from gpuc.objects.cilium_policies import enforced_policies
from gpuc.objects.network_policies import Policy
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import NAMESPACE_NAME, ObjectSet, dig, home_namespace
from gpuc.objects.other_policies import other_policies, policy_generators
from gpuc.objects.pods import Pods, pods

NO_DNS = declare_rule(
    "ISO005",
    Severity.WARNING,
    "Pods are isolated, and no policy allows the cluster's DNS.",
    "Every DNS lookup times out: the workload starts, cannot find its data or its peers, and still occupies its GPUs. "
    "DNS uses UDP, and TCP for long answers.",
    source="kubernetes.io/docs/concepts/services-networking/network-policies and dns-pod-service",
)
Location = tuple[Manifest, Path]
"""An object and a path in the object."""


def findings(objects: ObjectSet) -> Iterator[ObjectFinding]:
    """Yields findings about pods that cannot use DNS, one for all workloads with the same cause.

    The finding is at the incomplete rule for port 53, or at the policy that isolates the pods. Input with policies of
    other kinds, such as AdminNetworkPolicy, is not checked, because these policies can allow DNS.
    """
    if other_policies(objects) or policy_generators(objects):
        return
    policies_of: dict[str, list[Policy]] = defaultdict(list)
    for policy in enforced_policies(objects):
        policies_of[policy.namespace].append(policy)
    check = _DnsCheck(objects, DnsServers(objects))
    blocked: dict[int, tuple[Policy, list[str]]] = {}
    for namespace, clients in _dns_clients(objects).items():
        egress = [policy for policy in policies_of.get(namespace, ()) if EGRESS in policy.rules]
        found = list(_egress_findings(check, namespace, clients, egress))
        yield from found
        if not found and (blocker := check.ingress_blocker(namespace, policies_of.get(DNS_NAMESPACE, []))) is not None:
            blocked.setdefault(id(blocker), (blocker, []))[1].append(namespace)
    for blocker, namespaces in blocked.values():
        clients_text = with_kind("namespace", namespaces)
        message = (
            f"{blocker.manifest} isolates the DNS servers of the cluster, "
            f"and no policy of {DNS_NAMESPACE} allows pods of {clients_text} on port {PORT}"
        )
        yield ObjectFinding(NO_DNS, blocker.manifest, ("spec", "podSelector"), message)


def _egress_findings(
    check: _DnsCheck, namespace: str, clients: Sequence[_Client], policies: Sequence[Policy]
) -> Iterator[ObjectFinding]:
    """Yields a finding for each cause, with the workloads of the namespace that cannot use DNS for this cause."""
    causes: dict[tuple[int, Path], tuple[_Cause, list[str]]] = {}
    for client in clients:
        cause = check.egress_cause(namespace, client, policies)
        if cause is not None:
            causes.setdefault((id(cause.manifest), cause.path), (cause, []))[1].append(client.name)
            if not client.name:
                break  # users create pods with any labels, so the finding is about all pods of the namespace
    for cause, workloads in causes.values():
        who = short_list(workloads) if all(workloads) else f"namespace {namespace}"
        message = f"{cause.isolating} isolates pods of {who}, and {cause.reason}"
        yield ObjectFinding(NO_DNS, cause.manifest, cause.path, message)


class _Client(NamedTuple):
    """Pods that use the cluster's DNS."""

    labels: Mapping[str, str]
    name: str = ""
    """The kind and name of the workload; empty for pods that users create, whose labels are unknown."""


class _Cause(NamedTuple):
    """The reason why isolated pods cannot use DNS."""

    isolating: Manifest
    """The policy that isolates the pods."""
    manifest: Manifest
    """The policy with the incomplete rule; the isolating policy if no rule is for DNS."""
    path: Path
    reason: str


def _dns_clients(objects: ObjectSet) -> dict[str, list[_Client]]:
    """Returns the pods that use the cluster's DNS, by namespace. Pods that users create are first."""
    clients: dict[str, list[_Client]] = {}
    for queue in objects.of("kueue.x-k8s.io", "LocalQueue"):
        clients.setdefault(home_namespace(queue), [_Client({})])
    for name, labels in objects.namespaces.items():
        if labels.get(TENANT_LABEL):
            clients.setdefault(name, [_Client({})])
    for template in pods(objects):
        if _uses_cluster_dns(template):
            client = _Client(template.labels, str(template.manifest))
            clients.setdefault(home_namespace(template.manifest), []).append(client)
    return clients


def _uses_cluster_dns(template: Pods) -> bool:
    """Returns whether pods use the cluster's DNS over the pod network.

    Source: k8s.io/api v0.35 core/v1, PodSpec.dnsPolicy: "Default" and "None" use other servers
    """
    if not isinstance(template.spec, dict) or template.spec.get("hostNetwork") is True:
        return False
    return dig(template.spec, "dnsPolicy") in (None, "ClusterFirst")


@dataclass(frozen=True)
class _DnsCheck:
    """Checks whether the isolated pods of a namespace can use DNS."""

    objects: ObjectSet
    servers: DnsServers

    def egress_cause(self, namespace: str, client: _Client, policies: Sequence[Policy]) -> _Cause | None:
        """Returns the reason why a pod cannot use DNS; None if the pod can use DNS or is not isolated.

        The rules of all policies count for pods whose labels are unknown, if the object set is partial.

        Args:
            policies: the policies of the namespace that restrict egress.
        """
        isolating = [policy for policy in policies if matches(policy.pods, client.labels)]
        counted = isolating if self.objects.is_complete or client.name else policies
        if not isolating or not self._needs_dns(namespace, counted, policies):
            return None
        rules = [(policy, rule) for policy in counted for rule in policy.rules[EGRESS]]
        to_servers = [rule for policy, rule in rules if self.servers.rule_allows_servers(rule, policy.namespace)]
        to_cache = [rule for _, rule in rules if self.servers.rule_allows_cache(rule)]
        blocked = [
            protocol
            for protocol in PROTOCOLS
            if not any(self.servers.rule_allows_port(rule, protocol) for rule in to_servers + to_cache)
        ]
        isolation = _isolation(isolating)
        if not blocked and (guess := self._guessed_label(rules, to_servers)) is not None:
            reason = (
                f"the rule for DNS selects namespace {DNS_NAMESPACE} by a label that Kubernetes does not set; "
                f"write {NAMESPACE_NAME}: {DNS_NAMESPACE}"
            )
            return _Cause(isolation[0], *guess, reason)
        wrong_peer = self._wrong_peer(rules)
        if not blocked and (
            wrong_peer is None or any(self.servers.rule_allows_port(rule, "UDP") for rule in to_servers)
        ):
            return None
        manifest, path = wrong_peer or self._incomplete_rule(rules) or isolation
        ports = " and ".join(f"{protocol} {PORT}" for protocol in blocked or PROTOCOLS)
        cache = "" if blocked else f"; the pods can use only NodeLocal DNSCache at {CACHE}, if the cluster has it"
        servers = f"the DNS pods (label k8s-app: kube-dns in namespace {DNS_NAMESPACE})"
        return _Cause(isolation[0], manifest, path, f"no policy allows connections to {servers} on {ports}{cache}")

    def _guessed_label(
        self, rules: Sequence[tuple[Policy, TrafficRule]], to_servers: Sequence[TrafficRule]
    ) -> Location | None:
        """Returns the only peer for DNS, if it selects kube-system by a label that the files do not set."""
        guesses = [
            (policy.manifest, peer.path)
            for policy, rule in rules
            for peer in rule.peers
            if self.servers.rule_allows_port(rule, "UDP") and self.servers.is_guess(peer)
        ]
        certain = [
            rule
            for rule in to_servers
            if self.servers.rule_allows_port(rule, "UDP")
            and (not rule.peers or not all(self.servers.is_guess(peer) for peer in rule.peers))
        ]
        return guesses[0] if guesses and not certain else None

    def _needs_dns(self, namespace: str, counted: Sequence[Policy], policies: Sequence[Policy]) -> bool:
        """Returns whether pods need DNS. Pods without any allowed egress, such as a sandbox, do not need DNS.

        In complete input, and in a namespace with a LocalQueue, all pods need DNS. If a policy of the namespace allows
        DNS, other pods that only a policy for all pods of the namespace isolates need DNS too.

        Args:
            counted: the policies whose rules count for the pods.
            policies: the policies of the namespace that restrict egress.
        """
        if self.objects.is_complete or namespace in self._namespaces_with_queue:
            return True
        if any(policy.rules[EGRESS] for policy in counted):
            return True
        allows_dns = any(_is_for_dns(rule) for policy in policies for rule in policy.rules[EGRESS])
        return allows_dns and not any(policy.pods for policy in counted)

    @cached_property
    def _namespaces_with_queue(self) -> frozenset[str]:
        return frozenset(home_namespace(queue) for queue in self.objects.of("kueue.x-k8s.io", "LocalQueue"))

    def _wrong_peer(self, rules: Sequence[tuple[Policy, TrafficRule]]) -> Location | None:
        """Returns a peer of a rule for port 53 that selects pods, but no DNS pods; None if no rule has such a peer."""
        for policy, rule in rules:
            for peer in rule.peers if _is_for_dns(rule) else ():
                if peer.block is None and not self.servers.peer_includes_servers(peer, policy.namespace):
                    return policy.manifest, peer.path
        return None

    def _incomplete_rule(self, rules: Sequence[tuple[Policy, TrafficRule]]) -> Location | None:
        """Returns the ports or the peer of a rule for port 53 that excludes a protocol or all DNS servers.

        Returns None if no rule is for port 53.
        """
        for policy, rule in rules:
            if _is_for_dns(rule):
                includes_dns = self.servers.rule_allows_servers(
                    rule, policy.namespace
                ) or self.servers.rule_allows_cache(rule)
                return policy.manifest, (*rule.path, "ports") if includes_dns else rule.peers[0].path
        return None

    def ingress_blocker(self, namespace: str, policies: Sequence[Policy]) -> Policy | None:
        """Returns the policy that blocks connections from a namespace to the DNS pods; None if the policies allow them.

        Args:
            policies: the policies of kube-system.
        """
        isolating = [policy for policy in policies if INGRESS in policy.rules and matches(policy.pods, LABELS)]
        is_allowed = namespace == DNS_NAMESPACE or any(
            not rule.peers or any(self.servers.peer_includes_clients(peer, namespace) for peer in rule.peers)
            for policy in isolating
            for rule in policy.rules[INGRESS]
            if self.servers.rule_allows_port(rule, "UDP")
        )
        return isolating[0] if isolating and not is_allowed else None


def _isolation(policies: Sequence[Policy]) -> Location:
    """Returns the policy with the fewest egress rules, and the path of the field that isolates egress."""
    manifest = min(policies, key=lambda policy: len(policy.rules[EGRESS])).manifest
    key = next((key for key in ("policyTypes", EGRESS) if dig(manifest.body, "spec", key)), "podSelector")
    return manifest, ("spec", key)


def _is_for_dns(rule: TrafficRule) -> bool:
    """Returns whether a rule names port 53, or a port with "dns" in its name."""
    return rule.ports != ALL and any(span.low == span.high == PORT or "dns" in span.name for span in rule.ports)

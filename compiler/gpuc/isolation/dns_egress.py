"""Checks that pods can use DNS: a NetworkPolicy that isolates pods must also allow connections to the DNS servers."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from gpuc.cluster.namespace import namespaces
from gpuc.diagnostics.finding import Path
from gpuc.diagnostics.words import short_list, with_kind
from gpuc.isolation import rule_of
from gpuc.isolation.tenancy import TENANT_LABEL
from gpuc.kubernetes.addresses import contains, contains_pods, may_contain_pods
from gpuc.kubernetes.network_policy import EGRESS, INGRESS, Peer, TrafficRule
from gpuc.kubernetes.ports import ALL, opens
from gpuc.kubernetes.selector import Domain, Requirement, matches, requirement, satisfiable
from gpuc.manifest.manifest import Manifest
from gpuc.objects.network_policies import Policy
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import NAMESPACE_NAME, ObjectSet, dig, grouped, home_namespace
from gpuc.objects.other_policies import enforced_policies, other_policies, policy_generators
from gpuc.objects.pods import pods
from gpuc.objects.selectors import equal_labels

NO_DNS = rule_of("ISO005")
_Place = tuple[Manifest, Path]
"""An object and a path in the object."""
_Cause = tuple[_Place, Manifest, str]
"""Why isolated pods cannot use DNS: the place, the policy that isolates the pods, and the reason in words.

The place is the incomplete rule, or the field that isolates the pods if no rule is for DNS."""
_Client = tuple[Mapping[str, str], str]
"""The labels of pods, and the kind and name of their workload.

Both are empty for pods that users create, whose labels are unknown."""
_DNS_NAMESPACE = "kube-system"
_LABELS: Mapping[str, str] = {"k8s-app": "kube-dns", "eks.amazonaws.com/component": "coredns"}
"""The labels of CoreDNS pods on EKS.

Source: docs.aws.amazon.com/eks/latest/userguide/coredns-autoscaling; kubernetes v1.35 cluster/addons/dns/coredns
"""
_OTHER_CLUSTERS = requirement("k8s-app", "In", ("kube-dns", "coredns", "node-local-dns"))
"""The label of DNS pods on clusters other than EKS; the other labels of these pods are unknown."""
_CACHE = "169.254.20.10"
"""The address of NodeLocal DNSCache on every node; source: kubernetes.io/docs/tasks/administer-cluster/nodelocaldns"""
_NODE_ENTITIES = ("all", "cluster", "host")
"""The entities of Cilium that include the own node of a pod."""
_PORT = 53
_OTHER_PORT = 5353
"""The port of the DNS servers on OpenShift."""
_PROTOCOLS = ("UDP", "TCP")
_NAMED_PORTS = {("UDP", "dns"): frozenset((_PORT,)), ("TCP", "dns-tcp"): frozenset((_PORT,))}
"""The named ports of the DNS pods; source: kubernetes v1.35 cluster/addons/dns/coredns/coredns.yaml.base"""


def findings(objects: ObjectSet) -> Iterator[ObjectFinding]:
    """Yields findings about pods that cannot use DNS. Workloads with the same cause have one finding.

    The finding is at the incomplete rule for port 53, or at the policy that isolates the pods. If the objects contain
    policies of other kinds, such as AdminNetworkPolicy, nothing is checked, because these policies can allow DNS.
    """
    if other_policies(objects) or policy_generators(objects):
        return
    yield from _unseen_names(objects.once(enforced_policies))
    dns, refused = _Dns(objects), []
    for namespace, clients in dns.clients().items():
        found = list(dns.egress_findings(namespace, clients))
        yield from found
        if not found and dns.refuses(namespace):
            refused.append(namespace)
    if refused:
        manifest = dns.isolating_servers[0].manifest
        message = (
            f"{manifest} isolates the DNS servers of the cluster, "
            f"and no policy of {_DNS_NAMESPACE} allows pods of {with_kind('namespace', refused)} on port {_PORT}"
        )
        yield ObjectFinding(NO_DNS, manifest, ("spec", "podSelector"), message)


def _unseen_names(policies: Sequence[Policy]) -> Iterator[ObjectFinding]:
    """Yields findings about host names whose addresses Cilium cannot learn, because its proxy sees no DNS answers.

    Source: cilium/cilium v1.20.2 Documentation/security/policy/language.rst (DNS based)
    """
    seen = [policy for policy in policies if any(rule.shows_dns for rule in policy.rules.get(EGRESS, ()))]
    for policy in policies:
        named = next((peer for _, _, peer in policy.peers(EGRESS) if peer.host), None)
        beside = (other.pods for other in seen if other.namespace == policy.namespace)
        if named and not any(satisfiable((*pods, *policy.pods), ()) for pods in beside):
            needs = None if any(map(_is_for_dns, policy.rules[EGRESS])) else "all objects"
            message = f"no policy of these pods has rules.dns, so Cilium cannot learn the addresses of {named.host}"
            yield ObjectFinding(NO_DNS, policy.manifest, named.path, message, needs=needs)


class _Way(NamedTuple):
    """A peer of an egress rule, and the part of the cluster's DNS that the peer includes."""

    manifest: Manifest
    rule: TrafficRule
    peer: Peer
    protocols: tuple[str, ...]
    """The protocols that the rule allows on the port of the DNS servers."""
    has_servers: bool
    has_cache: bool


class _Dns:
    """The DNS servers and clients of a cluster, and the policies between them.

    In a partial object set, all pods and addresses that can be DNS servers count as DNS servers.
    """

    def __init__(self, objects: ObjectSet) -> None:
        self._objects = objects
        self._policies = grouped(objects.once(enforced_policies), lambda policy: policy.namespace)
        self.isolating_servers = [
            policy for policy in self._policies.get(_DNS_NAMESPACE, ())
            if INGRESS in policy.rules and matches(policy.pods, _LABELS)
        ]  # fmt: skip
        self._queues = dict.fromkeys(map(home_namespace, objects.of("kueue.x-k8s.io", "LocalQueue")))
        self._labels = namespaces(objects).labels
        self._known = self._labels.get(_DNS_NAMESPACE, {NAMESPACE_NAME: _DNS_NAMESPACE})
        # kube-system is assumed not to have the labels of other namespaces, unless their value is its name.
        others = {key for labels in objects.namespaces.values() for key in labels} - self._known.keys()
        own = Domain(True, frozenset((_DNS_NAMESPACE,)), False)
        self._namespace = (*equal_labels(self._known), *(Requirement(key, own) for key in others))

    def clients(self) -> dict[str, list[_Client]]:
        """Returns the pods that use the DNS of the cluster, by namespace. Pods that users create come first."""
        labelled = [name for name, labels in self._objects.namespaces.items() if labels.get(TENANT_LABEL)]
        clients: dict[str, list[_Client]] = {name: [({}, "")] for name in (*self._queues, *labelled)}
        for template in pods(self._objects):
            # k8s.io/api v0.35 core/v1, PodSpec.dnsPolicy: "Default" and "None" use other servers
            is_client = dig(template.spec, "dnsPolicy") in (None, "ClusterFirst")
            if isinstance(template.spec, dict) and template.spec.get("hostNetwork") is not True and is_client:
                client = template.labels, str(template.manifest)
                clients.setdefault(home_namespace(template.manifest), []).append(client)
        return clients

    def egress_findings(self, namespace: str, clients: Sequence[_Client]) -> Iterator[ObjectFinding]:
        """Yields a finding for each reason why pods of a namespace cannot use DNS. A finding names the workloads."""
        policies = [policy for policy in self._policies.get(namespace, ()) if EGRESS in policy.rules]
        causes: dict[tuple[int, Path], tuple[_Cause, list[str]]] = {}
        for client in clients:
            cause = self._cause(namespace, client, policies)
            if cause is not None:
                manifest, path = cause[0]
                causes.setdefault((id(manifest), path), (cause, []))[1].append(client[1])
                if not client[1]:
                    break  # users create pods with any labels, so the finding is about all pods of the namespace
        for (place, isolating, reason), workloads in causes.values():
            who = short_list(workloads) if all(workloads) else f"namespace {namespace}"
            yield ObjectFinding(NO_DNS, *place, f"{isolating} isolates pods of {who}, and {reason}")

    def refuses(self, namespace: str) -> bool:
        """Returns whether NetworkPolicies in kube-system prevent that pods of a namespace connect to the DNS pods."""
        labels = self._labels.get(namespace)
        is_allowed = namespace == _DNS_NAMESPACE or any(
            may_contain_pods(peer.block)
            if peer.block is not None
            else peer.namespaces is not None and (labels is None or matches(peer.namespaces, labels))
            for policy in self.isolating_servers
            for _, rule, peer in policy.peers(INGRESS)
            if "UDP" in self._protocols(rule)
        )
        return bool(self.isolating_servers) and not is_allowed

    def _cause(self, namespace: str, client: _Client, policies: Sequence[Policy]) -> _Cause | None:
        """Returns the reason why a pod cannot use DNS; None if the pod can use DNS or is not isolated.

        The rules of all policies count for pods whose labels are unknown, if the object set is partial.

        Args:
            policies: the policies of the namespace that restrict egress.
        """
        labels, name = client
        isolating = [policy for policy in policies if matches(policy.pods, labels)]
        counted = isolating if self._objects.is_complete or name else policies
        if not isolating or not self._needs_dns(namespace, counted, policies):
            return None
        ways = [way for policy in counted for way in self._ways(policy)]
        open_protocols = {protocol for way in ways if way.has_servers or way.has_cache for protocol in way.protocols}
        blocked = [protocol for protocol in _PROTOCOLS if protocol not in open_protocols]
        isolation = _isolation(isolating)
        over_udp = [way for way in ways if "UDP" in way.protocols]
        guesses = [way for way in over_udp if self._is_guess(way.peer)]
        to_servers = [way for way in over_udp if way.has_servers and not self._is_guess(way.peer)]
        if not blocked and guesses and not to_servers:
            reason = (
                f"the rule for DNS selects namespace {_DNS_NAMESPACE} by a label that Kubernetes does not set; "
                f"write {NAMESPACE_NAME}: {_DNS_NAMESPACE}"
            )
            return (guesses[0].manifest, guesses[0].peer.path), isolation[0], reason
        wrong, incomplete = _wrong_and_incomplete(ways)
        if not blocked and (wrong is None or to_servers):
            return None
        ports = " and ".join(f"{protocol} {_PORT}" for protocol in blocked or _PROTOCOLS)
        cache = "" if blocked else f"; the pods can use only NodeLocal DNSCache at {_CACHE}, if the cluster has it"
        servers = f"the DNS pods (label k8s-app: kube-dns in namespace {_DNS_NAMESPACE})"
        reason = f"no policy allows connections to {servers} on {ports}{cache}"
        return wrong or incomplete or isolation, isolation[0], reason

    def _needs_dns(self, namespace: str, counted: Sequence[Policy], policies: Sequence[Policy]) -> bool:
        """Returns whether pods need DNS. Pods without any allowed egress, such as a sandbox, do not need DNS.

        Pods to which no egress is allowed, such as a sandbox, do not need DNS. In complete input, and in a namespace
        with a LocalQueue, all other pods need DNS. Elsewhere, a policy of the namespace can allow DNS for some pods.
        Other pods then need DNS too, if only a policy for all pods of the namespace isolates them.
        """
        if self._objects.is_complete or namespace in self._queues or any(policy.rules[EGRESS] for policy in counted):
            return True
        allows_dns = any(_is_for_dns(rule) for policy in policies for rule in policy.rules[EGRESS])
        return allows_dns and not any(policy.pods for policy in counted)

    def _ways(self, policy: Policy) -> Iterator[_Way]:
        for _, rule, peer in policy.peers(EGRESS):
            has_cache = peer.entity in _NODE_ENTITIES or (peer.block is not None and contains(peer.block, _CACHE))
            has_servers = self._includes_servers(peer, policy.namespace)
            yield _Way(policy.manifest, rule, peer, self._protocols(rule), has_servers, has_cache)

    def _protocols(self, rule: TrafficRule) -> tuple[str, ...]:
        """Returns the protocols that a rule allows on the port of the DNS servers."""
        ports = {_PORT: _NAMED_PORTS} if self._objects.is_complete else {_PORT: _NAMED_PORTS, _OTHER_PORT: {}}
        return tuple(
            protocol
            for protocol in _PROTOCOLS
            if any(opens(rule.ports, protocol, port, named) for port, named in ports.items())
        )

    def _includes_servers(self, peer: Peer, home: str) -> bool:
        """Returns whether a peer in a policy of a namespace includes DNS servers, whose addresses are unknown."""
        is_complete = self._objects.is_complete
        if peer.block is not None:
            return contains_pods(peer.block, None) if is_complete else may_contain_pods(peer.block)
        if peer.namespaces is None:
            return home == _DNS_NAMESPACE
        if not is_complete and any("dns" in name for name in peer.named(NAMESPACE_NAME)):
            return True  # a namespace for DNS, such as openshift-dns
        has_pods = matches(peer.pods, _LABELS) if is_complete else satisfiable((*peer.pods, _OTHER_CLUSTERS), ())
        return has_pods and satisfiable((*peer.namespaces, *self._namespace), ())

    def _is_guess(self, peer: Peer) -> bool:
        """Returns whether a peer selects kube-system by a label that no object sets, such as name: kube-system.

        Kubernetes adds only the label kubernetes.io/metadata.name.
        """
        return any(
            key not in self._known and domain.values == {_DNS_NAMESPACE} and not (domain.absent or domain.is_complement)
            for key, domain in peer.namespaces or ()
        )


def _isolation(policies: Sequence[Policy]) -> _Place:
    """Returns the policy with the fewest egress rules, and the path of the field that isolates egress."""
    manifest = min(policies, key=lambda policy: len(policy.rules[EGRESS])).manifest
    key = next((key for key in ("policyTypes", EGRESS) if dig(manifest.body, "spec", key)), "podSelector")
    return manifest, ("spec", key)


def _wrong_and_incomplete(ways: Sequence[_Way]) -> tuple[_Place | None, _Place | None]:
    """Returns two places in rules for port 53: a wrong peer, and the ports or the peer of an incomplete rule.

    A wrong peer selects pods, but no DNS pods. An incomplete rule excludes a protocol or all DNS servers.
    """
    ways = [way for way in ways if _is_for_dns(way.rule)]
    if not ways:
        return None, None
    wrong = [(way.manifest, way.peer.path) for way in ways if way.peer.block is None and not way.has_servers]
    first = ways[0]
    is_open = any(way.has_servers or way.has_cache for way in ways if way.rule is first.rule)
    return next(iter(wrong), None), (first.manifest, (*first.rule.path, "ports") if is_open else first.peer.path)


def _is_for_dns(rule: TrafficRule) -> bool:
    """Returns whether a rule names port 53, or a port with "dns" in its name."""
    return rule.ports != ALL and any(span.low == span.high == _PORT or "dns" in span.name for span in rule.ports)

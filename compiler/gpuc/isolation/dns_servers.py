"""The DNS servers of a cluster, and the peers of NetworkPolicies that include the DNS servers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from gpuc.cluster.namespace import namespaces
from gpuc.kubernetes.addresses import contains, contains_pods, may_contain_pods
from gpuc.kubernetes.network_policy import Peer, TrafficRule
from gpuc.kubernetes.ports import opens
from gpuc.kubernetes.selector import Selector, matches, requirement, satisfiable
from gpuc.objects.object_set import NAMESPACE_NAME, ObjectSet

DNS_NAMESPACE = "kube-system"
LABELS: Mapping[str, str] = {"k8s-app": "kube-dns", "eks.amazonaws.com/component": "coredns"}
"""The labels of CoreDNS pods on EKS.

Source: docs.aws.amazon.com/eks/latest/userguide/coredns-autoscaling; kubernetes v1.35 cluster/addons/dns/coredns
"""
CACHE = "169.254.20.10"
"""The address of NodeLocal DNSCache on every node; source: kubernetes.io/docs/tasks/administer-cluster/nodelocaldns"""
PORT = 53
PROTOCOLS = ("UDP", "TCP")
_NODE_ENTITIES = ("all", "cluster", "host")
"""The entities of Cilium that include the own node of a pod."""
_OTHER_CLUSTERS = requirement("k8s-app", "In", ("kube-dns", "coredns", "node-local-dns"))
"""The label of DNS pods on clusters other than EKS; the other labels of these pods are unknown."""
_OTHER_PORT = 5353
"""The port of the DNS servers on OpenShift."""
_NAMED_PORTS = {("UDP", "dns"): frozenset((PORT,)), ("TCP", "dns-tcp"): frozenset((PORT,))}
"""The named ports of the DNS pods; source: kubernetes v1.35 cluster/addons/dns/coredns/coredns.yaml.base"""


@dataclass(frozen=True)
class DnsServers:
    """The DNS servers of a cluster.

    In a partial object set, all pods and addresses that can be DNS servers count as DNS servers.
    """

    objects: ObjectSet

    def rule_allows_port(self, rule: TrafficRule, protocol: str) -> bool:
        """Returns whether a rule allows a protocol on the port of the DNS servers."""
        is_other = not self.objects.is_complete and opens(rule.ports, protocol, _OTHER_PORT, {})
        return is_other or opens(rule.ports, protocol, PORT, _NAMED_PORTS)

    def rule_allows_servers(self, rule: TrafficRule, policy_namespace: str) -> bool:
        """Returns whether the peers of a rule include the DNS servers."""
        return not rule.peers or any(self.peer_includes_servers(peer, policy_namespace) for peer in rule.peers)

    def rule_allows_cache(self, rule: TrafficRule) -> bool:
        """Returns whether the peers of a rule include the address of NodeLocal DNSCache, which is on the own node."""
        return any(
            peer.entity in _NODE_ENTITIES or (peer.block is not None and contains(peer.block, CACHE))
            for peer in rule.peers
        )

    def peer_includes_servers(self, peer: Peer, policy_namespace: str) -> bool:
        """Returns whether a peer includes the DNS servers. The addresses of the DNS pods are unknown.

        Args:
            policy_namespace: the namespace of the policy, whose pods a peer without a namespace selector selects.
        """
        if peer.block is not None:
            return contains_pods(peer.block, None) or (not self.objects.is_complete and may_contain_pods(peer.block))
        if peer.namespaces is None:
            return policy_namespace == DNS_NAMESPACE
        if not self.objects.is_complete and _selects_dns_namespace(peer):
            return True
        if not self._can_match_dns_namespace(peer.namespaces):
            return False
        return (
            matches(peer.pods, LABELS) if self.objects.is_complete else satisfiable((*peer.pods, _OTHER_CLUSTERS), ())
        )

    def is_guess(self, peer: Peer) -> bool:
        """Returns whether a peer selects kube-system by a label that no object sets, such as name: kube-system.

        Kubernetes adds only the label kubernetes.io/metadata.name.
        """
        known = self.labels.get(DNS_NAMESPACE, {NAMESPACE_NAME: DNS_NAMESPACE})
        return peer.block is None and any(
            key not in known and domain.values == {DNS_NAMESPACE} and not (domain.absent or domain.is_complement)
            for key, domain in peer.namespaces or ()
        )

    def peer_includes_clients(self, peer: Peer, namespace: str) -> bool:
        """Returns whether a peer in a policy of kube-system includes pods of another namespace."""
        if peer.block is not None:
            return may_contain_pods(peer.block)
        labels = self.labels.get(namespace)
        return peer.namespaces is not None and (labels is None or matches(peer.namespaces, labels))

    def _can_match_dns_namespace(self, selector: Selector) -> bool:
        """Returns whether a selector can match the labels of kube-system.

        If the labels of kube-system are unknown, a label that no other namespace has can match.
        """
        known = self.labels.get(DNS_NAMESPACE, {NAMESPACE_NAME: DNS_NAMESPACE})
        return all(
            domain.allows(known[key])
            if key in known
            else key not in self._label_keys or domain.absent or domain.allows(DNS_NAMESPACE)
            for key, domain in selector
        )  # fmt: skip

    @cached_property
    def labels(self) -> Mapping[str, Mapping[str, str]]:
        """The labels by namespace, including labels that Argo CD Applications set."""
        return namespaces(self.objects).labels

    @cached_property
    def _label_keys(self) -> frozenset[str]:
        """The label keys of the namespaces in the object set; kube-system is assumed not to have them."""
        return frozenset(key for labels in self.objects.namespaces.values() for key in labels)


def _selects_dns_namespace(peer: Peer) -> bool:
    """Returns whether a peer selects a namespace for DNS by its name, such as openshift-dns."""
    return any(
        key == NAMESPACE_NAME and not domain.is_complement and any("dns" in value for value in domain.values)
        for key, domain in peer.namespaces or ()
    )

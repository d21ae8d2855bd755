"""The cluster's DNS servers, and which peers of NetworkPolicies include them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from gpuc.kubernetes.addresses import contains, contains_pods, may_contain_pods
from gpuc.kubernetes.network_policy import Peer, TrafficRule
from gpuc.kubernetes.ports import opens
from gpuc.kubernetes.selector import Selector, matches, requirement, satisfiable
from gpuc.objects.namespace_labels import Namespaces
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
_OTHER_CLUSTERS = requirement("k8s-app", "In", ("kube-dns", "coredns", "node-local-dns"))
"""A label of DNS pods on other clusters; their other labels are unknown."""
_OTHER_PORT = 5353
"""The port of OpenShift's DNS servers."""
_NAMED = {("UDP", "dns"): frozenset((PORT,)), ("TCP", "dns-tcp"): frozenset((PORT,))}
"""The named ports of the servers; source: kubernetes v1.35 cluster/addons/dns/coredns/coredns.yaml.base"""


@dataclass(frozen=True)
class Servers:
    """The DNS servers of a cluster.

    In a partial object set, everything that could be a DNS server counts as one.
    """

    objects: ObjectSet

    def on_port(self, rule: TrafficRule, protocol: str) -> bool:
        """Whether a rule allows the port of the servers."""
        is_other = not self.objects.is_complete and opens(rule.ports, protocol, _OTHER_PORT, {})
        return is_other or opens(rule.ports, protocol, PORT, _NAMED)

    def in_rule(self, rule: TrafficRule, home: str) -> bool:
        """Whether a rule in a policy of a namespace allows the servers."""
        return not rule.peers or any(self.in_peer(peer, home) for peer in rule.peers)

    def cache_in_rule(self, rule: TrafficRule) -> bool:
        """Whether a rule allows the DNS cache of the node."""
        return any(peer.block is not None and contains(peer.block, CACHE) for peer in rule.peers)

    def in_peer(self, peer: Peer, home: str) -> bool:
        """Whether a peer includes the servers; the addresses of pods are unknown."""
        if peer.block is not None:
            return contains_pods(peer.block, None) or (not self.objects.is_complete and may_contain_pods(peer.block))
        if peer.namespaces is None:
            return home == DNS_NAMESPACE
        if not self.objects.is_complete and _selects_dns_namespace(peer):
            return True
        if not self._can_match_dns_namespace(peer.namespaces):
            return False
        return (
            matches(peer.pods, LABELS) if self.objects.is_complete else satisfiable((*peer.pods, _OTHER_CLUSTERS), ())
        )

    def accepts_clients(self, peer: Peer, namespace: str) -> bool:
        """Whether a peer in a policy of kube-system includes pods of another namespace."""
        if peer.block is not None:
            return may_contain_pods(peer.block)
        labels = self.labels.get(namespace)
        return peer.namespaces is not None and (labels is None or matches(peer.namespaces, labels))

    def _can_match_dns_namespace(self, selector: Selector) -> bool:
        """Whether a selector can match kube-system. Unknown labels can match, unless other namespaces use them."""
        known = self.labels.get(DNS_NAMESPACE, {NAMESPACE_NAME: DNS_NAMESPACE})
        return all(
            domain.allows(known[key])
            if key in known
            else key not in self._keys or domain.absent or domain.allows(DNS_NAMESPACE)
            for key, domain in selector
        )  # fmt: skip

    @cached_property
    def labels(self) -> Mapping[str, Mapping[str, str]]:
        """The labels of all namespaces, including labels that Argo CD Applications set."""
        return Namespaces(self.objects).labels

    @cached_property
    def _keys(self) -> frozenset[str]:
        """The label keys of the namespaces in the object set; kube-system is assumed not to have them."""
        return frozenset(key for labels in self.objects.namespaces.values() for key in labels)


def _selects_dns_namespace(peer: Peer) -> bool:
    """Whether a peer selects a DNS namespace by its name, such as openshift-dns."""
    return any(
        key == NAMESPACE_NAME and not domain.is_complement and any("dns" in value for value in domain.values)
        for key, domain in peer.namespaces or ()
    )

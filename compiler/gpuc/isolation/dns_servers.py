"""The servers of the cluster's DNS, and which peers of NetworkPolicies take them in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from gpuc.kubernetes.addresses import contains, holds_pods, may_hold_pods
from gpuc.kubernetes.network_policy import Peer, TrafficRule
from gpuc.kubernetes.ports import opens
from gpuc.kubernetes.selector import Selector, matches, requirement, satisfiable
from gpuc.objects.namespace_labels import Namespaces
from gpuc.objects.object_set import NAMESPACE_NAME, ObjectSet

HOME = "kube-system"
LABELS: Mapping[str, str] = {"k8s-app": "kube-dns", "eks.amazonaws.com/component": "coredns"}
"""Labels of CoreDNS's pods on EKS.

Source: docs.aws.amazon.com/eks/latest/userguide/coredns-autoscaling; kubernetes v1.35 cluster/addons/dns/coredns
"""
CACHE = "169.254.20.10"
"""Where NodeLocal DNSCache listens on each node; source: kubernetes.io/docs/tasks/administer-cluster/nodelocaldns"""
PORT = 53
PROTOCOLS = ("UDP", "TCP")
_USUAL = requirement("k8s-app", "In", ("kube-dns", "coredns", "node-local-dns"))
"""What the servers are called on other clusters; what else their labels are there nobody knows."""
_OTHER_PORT = 5353
"""Of OpenShift's servers."""
_NAMED = {("UDP", "dns"): frozenset((PORT,)), ("TCP", "dns-tcp"): frozenset((PORT,))}
"""The ports of the servers; source: kubernetes v1.35 cluster/addons/dns/coredns/coredns.yaml.base"""


@dataclass(frozen=True)
class Servers:
    """The DNS of the cluster that a tree is for.

    Of a part of a cluster less is known: there, whatever may be a server counts as one.
    """

    tree: ObjectSet

    def on_port(self, rule: TrafficRule, protocol: str) -> bool:
        """Whether a rule is for the port of the servers."""
        is_other = not self.tree.is_complete and opens(rule.ports, protocol, _OTHER_PORT, {})
        return is_other or opens(rule.ports, protocol, PORT, _NAMED)

    def in_rule(self, rule: TrafficRule, home: str) -> bool:
        """Whether a rule of a namespace's policy is for the servers, among others."""
        return not rule.peers or any(self.in_peer(peer, home) for peer in rule.peers)

    def cache_in_rule(self, rule: TrafficRule) -> bool:
        """Whether a rule is for a cache on the node."""
        return any(peer.block is not None and contains(peer.block, CACHE) for peer in rule.peers)

    def in_peer(self, peer: Peer, home: str) -> bool:
        """Whether a peer takes the servers in; where pods have their addresses is not known."""
        if peer.block is not None:
            return holds_pods(peer.block, None) or (not self.tree.is_complete and may_hold_pods(peer.block))
        if peer.namespaces is None:
            return home == HOME
        if not self.tree.is_complete and _names_dns(peer):
            return True
        if not self._is_home(peer.namespaces):
            return False
        return matches(peer.pods, LABELS) if self.tree.is_complete else satisfiable((*peer.pods, _USUAL), ())

    def takes_callers(self, peer: Peer, namespace: str) -> bool:
        """Whether a peer of a policy of kube-system takes in pods of another namespace."""
        if peer.block is not None:
            return may_hold_pods(peer.block)
        labels = self.labels.get(namespace)
        return peer.namespaces is not None and (labels is None or matches(peer.namespaces, labels))

    def _is_home(self, selector: Selector) -> bool:
        """Whether a selector may take kube-system: of its labels the tree knows a few, and its name is usual as one."""
        known = self.labels.get(HOME, {NAMESPACE_NAME: HOME})
        return all(
            domain.holds(known[key])
            if key in known
            else key not in self._keys or domain.absent or domain.holds(HOME)
            for key, domain in selector
        )  # fmt: skip

    @cached_property
    def labels(self) -> Mapping[str, Mapping[str, str]]:
        """Labels of the namespaces that the tree describes, and those that Applications give theirs."""
        return Namespaces(self.tree).labels

    @cached_property
    def _keys(self) -> frozenset[str]:
        """Labels by which the tree tells its own namespaces apart: kube-system does not have them."""
        return frozenset(key for labels in self.tree.namespaces.values() for key in labels)


def _names_dns(peer: Peer) -> bool:
    """Whether a peer names a namespace for DNS, such as openshift-dns."""
    return any(
        key == NAMESPACE_NAME and not domain.is_complement and any("dns" in value for value in domain.values)
        for key, domain in peer.namespaces or ()
    )

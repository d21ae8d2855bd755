"""Decides whether NetworkPolicies allow a connection between two pods. Tests compare the proof with the decision.

Source: kubernetes.io/docs/concepts/services-networking/network-policies
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from gpuc.kubernetes.addresses import contains
from gpuc.kubernetes.network_policy import EGRESS, INGRESS, NetworkPolicy, Peer
from gpuc.kubernetes.ports import opens
from gpuc.kubernetes.selector import matches


@dataclass(frozen=True)
class Pod:
    """A pod on the pod network."""

    namespace: str
    labels: Mapping[str, str]
    address: str
    """The IP address of the pod."""
    named: Mapping[tuple[str, str], frozenset[int]] = field(default_factory=dict)
    """Port numbers by protocol and port name."""


class PodNetwork(NamedTuple):
    """The NetworkPolicies and namespaces of a cluster."""

    policies: Sequence[NetworkPolicy]
    namespaces: Mapping[str, Mapping[str, str]]
    """The labels of namespaces, by name."""

    def allows(self, client: Pod, server: Pod, protocol: str, port: int) -> bool:
        """Returns whether the policies allow a connection of a client pod to a port of a server pod."""
        return self._permits(EGRESS, client, server, server, protocol, port) and self._permits(
            INGRESS, server, client, server, protocol, port
        )

    def _permits(self, direction: str, pod: Pod, other: Pod, server: Pod, protocol: str, port: int) -> bool:
        """Returns whether a pod permits a connection in one direction.

        A pod that no policy selects permits everything. For an isolated pod, one matching rule of one policy is enough.
        """
        selecting = [
            policy
            for policy in self.policies
            if direction in policy.rules and policy.namespace == pod.namespace and matches(policy.pods, pod.labels)
        ]
        return not selecting or any(
            opens(rule.ports, protocol, port, server.named)
            and (not rule.peers or any(self._includes(peer, other, policy.namespace) for peer in rule.peers))
            for policy in selecting
            for rule in policy.rules[direction]
        )

    def _includes(self, peer: Peer, pod: Pod, home: str) -> bool:
        if peer.block is not None:
            return contains(peer.block, pod.address)
        if peer.namespaces is None:
            is_in_namespace = pod.namespace == home
        else:
            is_in_namespace = matches(peer.namespaces, self.namespaces.get(pod.namespace, {}))
        return is_in_namespace and matches(peer.pods, pod.labels)

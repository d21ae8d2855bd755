"""NetworkPolicies, and whether they allow a connection between two pods with known labels and addresses.

Source: k8s.io/api v0.35 networking/v1; kubernetes.io/docs/concepts/services-networking/network-policies
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from gpuc.kubernetes.addresses import Ranges, contains
from gpuc.kubernetes.ports import Ports, opens
from gpuc.kubernetes.selector import Selector, matches

INGRESS, EGRESS = "ingress", "egress"
Path = tuple[str | int, ...]


class Peer(NamedTuple):
    """The pods or addresses that a rule allows."""

    path: Path
    """The path in the policy."""
    pods: Selector = ()
    """The selector of pods in the selected namespaces."""
    namespaces: Selector | None = None
    """The selector of namespaces; None for the namespace of the policy."""
    block: Ranges | None = None
    """The addresses of an ipBlock, which has no selectors; None for a peer with selectors."""


class TrafficRule(NamedTuple):
    """A rule that allows some peers on some ports."""

    path: Path
    """The path in the policy."""
    peers: tuple[Peer, ...]
    """The allowed peers; empty if all peers are allowed."""
    ports: Ports


@dataclass(frozen=True)
class NetworkPolicy:
    """A NetworkPolicy with its defaults."""

    namespace: str
    pods: Selector
    """The selector of the pods that the policy isolates."""
    rules: Mapping[str, tuple[TrafficRule, ...]]
    """Rules by direction; a direction that the policy does not isolate is missing."""


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
        """Whether the policies allow a connection of a client pod to a port of a server pod."""
        return self._permits(EGRESS, client, server, server, protocol, port) and self._permits(
            INGRESS, server, client, server, protocol, port
        )

    def _permits(self, direction: str, pod: Pod, other: Pod, server: Pod, protocol: str, port: int) -> bool:
        """Whether a pod permits a connection in one direction.

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

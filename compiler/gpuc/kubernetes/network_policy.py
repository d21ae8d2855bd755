"""NetworkPolicies: what one is, and whether one pod reaches another whose labels and addresses are known.

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
    """The pods or addresses that a rule is for."""

    path: Path
    """Its place in its policy."""
    pods: Selector = ()
    """Of pods of the selected namespaces."""
    namespaces: Selector | None = None
    """None for the policy's own namespace."""
    block: Ranges | None = None
    """Where not None: addresses, and the selectors mean nothing."""


class TrafficRule(NamedTuple):
    """What is allowed: these peers on these ports."""

    path: Path
    """Its place in its policy."""
    peers: tuple[Peer, ...]
    """Empty for everybody."""
    ports: Ports


@dataclass(frozen=True)
class NetworkPolicy:
    """One NetworkPolicy, defaults filled in."""

    namespace: str
    pods: Selector
    """The pods of its namespace that it isolates."""
    rules: Mapping[str, tuple[TrafficRule, ...]]
    """By direction; one that the policy does not isolate is missing."""


@dataclass(frozen=True)
class Pod:
    """A pod of the pod network."""

    namespace: str
    labels: Mapping[str, str]
    address: str
    """Its IP address."""
    named: Mapping[tuple[str, str], frozenset[int]] = field(default_factory=dict)
    """Numbers of its ports by protocol and name."""


class World(NamedTuple):
    """Policies, and the labels of namespaces."""

    policies: Sequence[NetworkPolicy]
    namespaces: Mapping[str, Mapping[str, str]]
    """Labels of each namespace by its name."""

    def allows(self, client: Pod, server: Pod, protocol: str, port: int) -> bool:
        """Whether a connection between two pods is let out and let in; the port is that of the server pod."""
        return self._lets(EGRESS, client, server, server, protocol, port) and self._lets(
            INGRESS, server, client, server, protocol, port
        )

    def _lets(self, direction: str, pod: Pod, other: Pod, server: Pod, protocol: str, port: int) -> bool:
        """Policies only add up: a pod that one of them selects is isolated, and each rule of each of them opens."""
        selecting = [
            policy
            for policy in self.policies
            if direction in policy.rules and policy.namespace == pod.namespace and matches(policy.pods, pod.labels)
        ]
        return not selecting or any(
            opens(rule.ports, protocol, port, server.named)
            and (not rule.peers or any(self._is(peer, other, policy.namespace) for peer in rule.peers))
            for policy in selecting
            for rule in policy.rules[direction]
        )

    def _is(self, peer: Peer, pod: Pod, home: str) -> bool:
        if peer.block is not None:
            return contains(peer.block, pod.address)
        if peer.namespaces is None:
            is_near = pod.namespace == home
        else:
            is_near = matches(peer.namespaces, self.namespaces.get(pod.namespace, {}))
        return is_near and matches(peer.pods, pod.labels)

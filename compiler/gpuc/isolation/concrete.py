"""Whether one pod reaches another: NetworkPolicies evaluated for pods whose labels and addresses are known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from gpuc.isolation.addresses import contains
from gpuc.isolation.policy import Peer, Policy
from gpuc.isolation.ports import opens
from gpuc.isolation.selector import matches


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
    """Policies, and the namespaces that they stand in."""

    policies: Sequence[Policy]
    namespaces: Mapping[str, Mapping[str, str]]
    """Labels of each namespace by its name."""

    def allows(self, caller: Pod, called: Pod, protocol: str, port: int) -> bool:
        """Whether a connection between two pods is let out and let in; the port is that of the called pod."""
        return self._lets("egress", caller, called, called, protocol, port) and self._lets(
            "ingress", called, caller, called, protocol, port
        )

    def _lets(self, direction: str, pod: Pod, other: Pod, called: Pod, protocol: str, port: int) -> bool:
        """Policies only add up: a pod that one of them selects is isolated, and each rule of each of them opens."""
        selecting = [
            policy
            for policy in self.policies
            if direction in policy.rules and policy.namespace == pod.namespace and matches(policy.pods, pod.labels)
        ]
        return not selecting or any(
            opens(rule.ports, protocol, port, called.named)
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

"""NetworkPolicies as values: the peers, ports and rules of a policy.

Source: k8s.io/api v0.35 networking/v1; kubernetes.io/docs/concepts/services-networking/network-policies
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from gpuc.kubernetes.addresses import Ranges
from gpuc.kubernetes.ports import Ports
from gpuc.kubernetes.selector import Selector

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

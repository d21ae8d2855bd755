"""Classes for NetworkPolicies: the policy, its rules, and the peers and ports of a rule.

Source: k8s.io/api v0.35 networking/v1; kubernetes.io/docs/concepts/services-networking/network-policies
"""

from collections.abc import Iterator, Mapping

from msgspec import Struct

from gpuc.kubernetes.addresses import Ranges
from gpuc.kubernetes.ports import Ports
from gpuc.kubernetes.selector import Selector

INGRESS, EGRESS = "ingress", "egress"
Path = tuple[str | int, ...]


class Peer(Struct, frozen=True):
    """A peer of a NetworkPolicy rule: pods, addresses of an ipBlock, an entity of Cilium, or a host name."""

    path: Path
    """The path in the NetworkPolicy object."""
    pods: Selector = ()
    """The selector of pods in the selected namespaces."""
    namespaces: Selector | None = None
    """The selector of namespaces; None for the namespace of the policy."""
    block: Ranges | None = None
    """The addresses of an ipBlock; None for a peer with selectors."""
    entity: str = ""
    """The entity of a CiliumNetworkPolicy, such as host; empty for other peers."""
    host: str = ""
    """The host name or pattern of a CiliumNetworkPolicy, such as **.hf.co; empty for other peers."""

    def named(self, key: str) -> set[str]:
        """Returns the values that the peer's namespaceSelector lists for a label."""
        return {value for own, domain in self.namespaces or () if own == key for value in domain.listed or ()}


class TrafficRule(Struct, frozen=True):
    """A rule of a NetworkPolicy, which allows connections with some peers on some ports."""

    path: Path
    """The path in the NetworkPolicy object."""
    peers: tuple[Peer, ...]
    """The allowed peers; empty if all peers are allowed."""
    ports: Ports
    shows_dns: bool = False
    """Whether the proxy of Cilium sees the DNS answers that the rule allows."""


class NetworkPolicy(Struct, frozen=True):
    """A NetworkPolicy, in which missing fields have their default values."""

    namespace: str
    pods: Selector
    """The selector of the pods that the policy isolates."""
    rules: Mapping[str, tuple[TrafficRule, ...]]
    """Rules by direction, only for the directions that the policy isolates."""

    def peers(self, *directions: str) -> Iterator[tuple[str, TrafficRule, Peer]]:
        """Yields each peer with which the policy allows connections, with the direction and the rule.

        A rule that lists no peers has a peer with all pods and addresses.

        Args:
            directions: "ingress" or "egress"; without arguments, all directions of the policy.
        """
        for direction in directions or self.rules:
            for rule in self.rules.get(direction, ()):
                for peer in rule.peers or (Peer(rule.path, namespaces=(), entity="all"),):
                    yield direction, rule, peer

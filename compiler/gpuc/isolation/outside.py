"""Finds connections of tenants that policies allow to or from the internet, host names and gateways."""

from collections.abc import Iterator
from ipaddress import IPv4Address, IPv6Address, summarize_address_range
from typing import NamedTuple

from gpuc.diagnostics.words import short_list, with_kind
from gpuc.isolation.assumptions import Assumption, Basis
from gpuc.isolation.proof import Reachability
from gpuc.kubernetes.addresses import PUBLIC, Range, is_internet, overlap, range_text
from gpuc.kubernetes.network_policy import EGRESS, INGRESS, Peer
from gpuc.kubernetes.ports import Ports
from gpuc.objects.object_set import by_first

INTERNET = "the internet"
_GATEWAYS = "gateways of Cilium"
_OWN_NODE = "their own node"
"""The entity host of Cilium."""
_WORLD = ("all", "world", "world-ipv4", "world-ipv6")
"""Entities of Cilium that include all addresses outside of the cluster."""


class PublicPath(NamedTuple):
    """Connections to or from public addresses that the policies of a tenant allow."""

    tenant: str
    direction: str
    """INGRESS or EGRESS."""
    peers: tuple[str, ...]
    """The internet, address ranges, host names or gateways."""
    ports: Ports
    namespaces: tuple[str, ...]
    """The namespaces of the tenant that have the policies."""


def public_paths(reachability: Reachability) -> list[PublicPath]:
    """Returns the connections to or from public addresses that the policies of tenants allow.

    gpuc does not know the addresses of host names and the clients of gateways.
    """
    owners = reachability.tenancy.tenants
    namespaces = by_first(
        ((owners[policy.namespace], direction, name, rule.ports), policy.namespace)
        for policy in reachability.tenant_policies
        for direction, rule, peer in policy.peers()
        for name in _public_names(peer)
    )
    peers = by_first(
        ((tenant_name, direction, ports, tuple(sorted(set(found)))), name)
        for (tenant_name, direction, name, ports), found in namespaces.items()
    )
    return sorted(
        PublicPath(tenant_name, direction, tuple(names), ports, found)
        for (tenant_name, direction, ports, found), names in peers.items()
    )


def public_assumptions(reachability: Reachability) -> Iterator[Assumption]:
    """Yields the assumptions of the proof about host names, gateways, public load balancers and their health checks."""
    paths = public_paths(reachability)
    hosts = {peer.host for policy in reachability.policies for _, _, peer in policy.peers() if peer.host}
    if hosts:
        claim = "the host names in rules are not names of servers of other tenants"
        reason = f"gpuc does not know the addresses of {short_list(hosts)}; rules with names match no pods and no nodes"
        yield Assumption(claim, Basis.ASSUMED, reason)
    behind_gateways = {path.tenant for path in paths if _GATEWAYS in path.peers}
    if behind_gateways:
        claim = "gateways of Cilium do not forward traffic between tenants"
        reason = f"rules allow connections from gateways to {with_kind('tenant', behind_gateways)}"
        yield Assumption(claim, Basis.ASSUMED, reason)
    clients, servers = (
        {path.tenant for path in paths if path.direction == direction and INTERNET in path.peers}
        for direction in (EGRESS, INGRESS)
    )
    if clients and servers and len(clients | servers) > 1:
        claim = "tenants may use the public load balancers of other tenants"
        reason = f"rules allow connections to the internet from {with_kind('tenant', clients)}, "
        yield Assumption(claim, Basis.ASSUMED, f"{reason}and from the internet to {with_kind('tenant', servers)}")
    ranges = set(_health_checks(reachability))
    if ranges:
        claim = f"only load balancers have addresses in {short_list(ranges)}, from which their health checks come"
        reason = "rules allow these private ranges beside the internet"
        yield Assumption(claim, Basis.ASSUMED if reachability.pods is None else Basis.DECLARED, reason)


def _health_checks(reachability: Reachability) -> Iterator[str]:
    """Yields the private ranges in rules that also allow connections from the internet."""
    for policy in reachability.tenant_policies:
        for rule in policy.rules.get(INGRESS, ()):
            blocks = [peer.block for peer in rule.peers if peer.block]
            if any(map(is_internet, blocks)):
                yield from (_range_text(known) for block in blocks if not is_internet(block)
                            for known in block if not overlap((known,), PUBLIC))  # fmt: skip


def _public_names(peer: Peer) -> Iterator[str]:
    """Yields the public part of a peer in words; nothing for pods, nodes and private addresses."""
    if peer.entity in _WORLD:
        yield INTERNET
    elif peer.host or peer.entity == "ingress" or overlap(peer.block or (), PUBLIC):
        yield from peer_text(peer)


def peer_text(peer: Peer) -> Iterator[str]:
    """Yields texts for a peer that selects no pods: the internet, address ranges, a host name or a Cilium entity."""
    if peer.host:
        yield peer.host
    elif peer.entity:
        yield {"ingress": _GATEWAYS, "host": _OWN_NODE}.get(peer.entity, f"entity {peer.entity}")
    elif peer.block:
        yield from [INTERNET] if is_internet(peer.block) else map(_range_text, peer.block)


def _range_text(known: Range) -> str:
    """Returns a range as a CIDR, or as the first and the last address if the range is not one CIDR."""
    version, first, last = known
    kind = IPv4Address if version == 4 else IPv6Address
    networks = list(summarize_address_range(kind(first), kind(last)))
    return str(networks[0]) if len(networks) == 1 else range_text(known, known)

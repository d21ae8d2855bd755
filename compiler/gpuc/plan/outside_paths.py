"""The network paths of tenants with everything but pods of tenants, in a state."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from gpuc.diagnostics.finding import Path
from gpuc.isolation.outside import peer_text
from gpuc.isolation.proof import REASON_ANNOTATION
from gpuc.isolation.tenancy import TENANT_LABEL
from gpuc.kubernetes.addresses import Ranges, subtract
from gpuc.kubernetes.network_policy import Peer
from gpuc.kubernetes.ports import Ports, without
from gpuc.kubernetes.selector import Selector
from gpuc.manifest.manifest import Manifest
from gpuc.objects.network_policies import Policy
from gpuc.objects.object_set import NAMESPACE_NAME
from gpuc.plan.network_paths import reachability
from gpuc.plan.state import State

_ALL = "all addresses"


class OutsidePath(NamedTuple):
    """Connections of the pods of a namespace with a peer that is no pod of a tenant."""

    tenant: str
    namespace: str
    direction: str
    """INGRESS or EGRESS."""
    peer: str
    """A host name, a namespace of the platform, or an entity of Cilium, in words; empty for addresses."""
    block: Ranges
    """The addresses; empty for other peers."""
    ports: Ports
    pods: str
    """The labels of the pods in words; empty for all pods of the namespace."""
    why: str
    """The reason in the policy; empty without a reason."""
    manifest: Manifest
    """The policy that allows the connections."""
    path: Path
    """The path of the peer in the policy."""

    @property
    def peers(self) -> tuple[str, ...]:
        """The peer in words; several ranges of addresses."""
        return tuple(peer_text(Peer(self.path, block=self.block))) if self.block else (self.peer,)


@lru_cache(maxsize=4)
def outside_paths(state: State) -> tuple[OutsidePath, ...]:
    """Returns the connections that policies of tenants allow with everything but pods of tenants."""
    owners = reachability(state).tenancy.tenants
    policies = reachability(state).policies
    return tuple(
        path for policy in policies if (tenant := owners.get(policy.namespace)) for path in _paths(policy, tenant)
    )


def remainder(path: OutsidePath, others: Iterable[OutsidePath]) -> Iterator[OutsidePath]:
    """Yields the parts of a path that other paths of the same namespace do not include."""
    boxes = [(path.block, path.ports)]
    for other in others:
        if other.direction == path.direction and other.pods in ("", path.pods):
            is_same_peer = other.peer == _ALL or (other.peer == path.peer and not other.block)
            boxes = [part for box in boxes for part in _without(box, other, is_same_peer)]
    for block, ports in boxes:
        yield path._replace(block=block, ports=ports)


def _without(box: tuple[Ranges, Ports], other: OutsidePath, is_same_peer: bool) -> Iterator[tuple[Ranges, Ports]]:
    """Yields the parts of the addresses and ports of a path that another path does not include."""
    block, ports = box
    if not is_same_peer and not (block and other.block):
        yield box
        return
    left, outside = without(ports, other.ports), () if is_same_peer else _subtracted(block, other.block)
    if outside:
        yield outside, ports
    inside = _subtracted(block, outside)
    if left and (inside or is_same_peer):
        yield inside, left


def _subtracted(block: Ranges, others: Ranges) -> Ranges:
    for excluded in others:
        block = subtract(block, excluded)
    return block


def _paths(policy: Policy, tenant: str) -> Iterator[OutsidePath]:
    why = policy.manifest.annotations.get(REASON_ANNOTATION, "")
    pods = _labels(policy.pods)
    for direction, rules in policy.rules.items():
        for rule in rules:
            known = OutsidePath(
                tenant, policy.namespace, direction, _ALL, (), rule.ports, pods, why, policy.manifest, rule.path
            )
            if not rule.peers:
                yield known
            for peer in rule.peers:
                if peer.block:
                    yield known._replace(peer="", block=peer.block, path=peer.path)
                else:
                    yield from (known._replace(peer=name, path=peer.path) for name in _peer_names(peer))


def _peer_names(peer: Peer) -> Iterator[str]:
    """Yields a peer without addresses in words; nothing for pods of tenants, which the isolation proof judges."""
    if peer.namespaces is None:
        yield from peer_text(peer)
        return
    pods = f"pods {_labels(peer.pods)} of " if peer.pods else ""
    for key, domain in peer.namespaces:
        if key == NAMESPACE_NAME and not domain.is_complement:
            yield from (f"{pods}namespace {name}" for name in sorted(domain.values))
        elif key == TENANT_LABEL:
            return
        else:
            yield f"{pods}namespaces with the label {key}"
    if not peer.namespaces:
        yield f"{pods}all namespaces"


def _labels(selector: Selector) -> str:
    return ", ".join(f"{key}={'|'.join(sorted(domain.values))}" for key, domain in selector)

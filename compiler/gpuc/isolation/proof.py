"""Which namespaces' pods can reach which others', whatever labels the pods are given.

A tenant chooses the labels of its pods, so each question is whether some labels exist: of a called pod that no policy
isolates or that an ingress rule opens, and of a calling pod that no policy isolates or that an egress rule lets out.
A rule's selectors speak of both pods, so the labels of each have to satisfy both rules at once.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from gpuc.diagnostics.finding import Path
from gpuc.isolation.tenancy import Tenancy
from gpuc.kubernetes.addresses import Ranges, holds_pods
from gpuc.kubernetes.network_policy import EGRESS, INGRESS, Peer, TrafficRule
from gpuc.kubernetes.ports import ALL, Ports, meet
from gpuc.kubernetes.selector import LabelIndex, Selector, satisfiable
from gpuc.objects.network_policies import Policy
from gpuc.objects.object_set import NAMESPACE_NAME


@dataclass(frozen=True, eq=False)
class Gate:
    """One way through the policies of a namespace, inward or outward."""

    direction: str
    namespace: str
    """Whose policies it is a way through."""
    policy: Policy | None = None
    """The policy that opens it; None where pods are isolated by none."""
    path: Path = ()
    """The rule, or the peer of it, in the policy."""
    pods: Selector = ()
    """The labels that a pod of the namespace needs."""
    avoided: tuple[Selector, ...] = ()
    """Selectors that must not match a pod of the namespace."""
    others: Selector = ()
    """The labels that the pod at the other end needs."""
    ports: Ports = ALL
    is_declared: bool = False
    """Whether its policy gives a reason for it and names the other namespace."""

    @property
    def is_passable(self) -> bool:
        """Whether pods exist for which it opens."""
        return satisfiable(self.pods, self.avoided) and satisfiable(self.others, ())


class Opening(NamedTuple):
    """Pods of one tenant's namespace reach pods of another's."""

    caller: str
    """Namespace."""
    called: str
    """Namespace."""
    egress: Gate
    ingress: Gate
    ports: Ports

    @property
    def is_declared(self) -> bool:
        """Whether each side that isolates its pods says that it wants this."""
        stated = [gate for gate in (self.egress, self.ingress) if gate.policy is not None]
        return bool(stated) and all(gate.is_declared for gate in stated)


WHY = "gpuc.dev/why"
"""The annotation with which a policy gives the reason for its exceptions."""


@dataclass(frozen=True)
class Reach:
    """The ways between the namespaces of tenants."""

    policies: Sequence[Policy]
    tenancy: Tenancy
    pods: Ranges | None = None
    """Where pods have their addresses; None where nobody said."""
    counts_absence: bool = True
    """Whether pods that no policy isolates are open; not so where further policies may stand elsewhere."""

    @cached_property
    def openings(self) -> tuple[Opening, ...]:
        """Every way from one tenant to another."""
        return tuple(self._openings())

    @cached_property
    def isolated(self) -> Mapping[str, frozenset[str]]:
        """Tenants of which some pods are isolated, by direction."""
        found: dict[str, set[str]] = {INGRESS: set(), EGRESS: set()}
        for policy in self.policies:
            tenant = self.tenancy.tenants.get(policy.namespace)
            for direction in policy.rules if tenant else ():
                found[direction].add(str(tenant))
        return {direction: frozenset(tenants) for direction, tenants in found.items()}

    @cached_property
    def gates(self) -> Mapping[tuple[str, str], Mapping[str, tuple[Gate, ...]]]:
        """Of each direction and namespace: the gates for each namespace of another tenant."""
        standing: dict[tuple[str, str], list[Policy]] = defaultdict(list)
        for policy in self.policies:
            for direction in policy.rules:
                standing[direction, policy.namespace].append(policy)
        return {
            (direction, namespace): self._of_namespace(direction, namespace, standing[direction, namespace])
            for direction in (INGRESS, EGRESS)
            for namespace in self.tenancy.tenants
        }

    def _of_namespace(self, direction: str, namespace: str, policies: list[Policy]) -> dict[str, tuple[Gate, ...]]:
        found: dict[str, list[Gate]] = defaultdict(list)
        bare = Gate(direction, namespace, avoided=tuple(dict.fromkeys(policy.pods for policy in policies)))
        if self.counts_absence and bare.is_passable:
            for other in self._strangers(namespace):
                found[other].append(bare)
        for policy in policies:
            for rule in policy.rules[direction]:
                for gate, others in self._of_rule(direction, policy, rule):
                    for other in others:
                        found[other].append(gate)
        return {other: tuple(gates) for other, gates in found.items()}

    def _of_rule(self, direction: str, policy: Policy, rule: TrafficRule) -> Iterator[tuple[Gate, Sequence[str]]]:
        """The gates of a rule, each with the namespaces of other tenants that it is for."""
        home, owners = policy.namespace, self.tenancy.tenants
        if not rule.peers:
            gate = Gate(direction, home, policy, rule.path, policy.pods, ports=rule.ports)
            yield gate, self._strangers(home) if gate.is_passable else ()
        for peer in rule.peers:
            others = [name for name in self._near(peer) if owners[name] != owners[home]]
            gate = Gate(
                direction, home, policy, peer.path, policy.pods, (), peer.pods, rule.ports, _is_declared(policy, peer)
            )
            if others and gate.is_passable:
                yield gate, others

    def _near(self, peer: Peer) -> Sequence[str]:
        """The tenants' namespaces whose pods may be the peer; those of its own tenant are of no matter."""
        if peer.block is not None:
            return tuple(self.tenancy.tenants) if holds_pods(peer.block, self.pods) else ()
        if peer.namespaces is None:
            return ()
        return self._spaces.select(peer.namespaces)

    @cached_property
    def _spaces(self) -> LabelIndex:
        """The tenants' namespaces."""
        return LabelIndex({name: self.tenancy.namespaces[name] for name in self.tenancy.tenants})

    def _strangers(self, namespace: str) -> list[str]:
        """The namespaces of all other tenants; of none where the namespace has no tenant."""
        owners = self.tenancy.tenants
        tenant = owners.get(namespace)
        return [name for name, owner in owners.items() if owner != tenant] if tenant else []

    def _openings(self) -> Iterator[Opening]:
        for called in self.tenancy.tenants:
            for caller, inward in self.gates[INGRESS, called].items():
                for outward in self.gates[EGRESS, caller].get(called, ()):
                    for gate in inward:
                        ports = meet(outward.ports, gate.ports)
                        if ports and _fit(outward, gate):
                            yield Opening(caller, called, outward, gate, ports)


def _fit(outward: Gate, inward: Gate) -> bool:
    """Whether one calling pod and one called pod exist that both gates open for."""
    return satisfiable(outward.pods + inward.others, outward.avoided) and satisfiable(
        inward.pods + outward.others, inward.avoided
    )


def _is_declared(policy: Policy, peer: Peer) -> bool:
    """An exception is one that has a reason and names the namespace: a wide selector with a reason is a hole."""
    named = any(
        key == NAMESPACE_NAME and not (domain.absent or domain.is_complement) and len(domain.values) == 1
        for key, domain in peer.namespaces or ()
    )
    return named and bool(policy.manifest.annotations.get(WHY))

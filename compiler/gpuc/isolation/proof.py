"""The proof of isolation: finds all namespaces that can connect to each other, for all possible pod labels.

A tenant chooses the labels of its pods. Two namespaces can therefore connect if any labels exist for a client pod and
a server pod so that both ends permit the connection. An end permits the connection
if a rule allows it, or if no policy isolates the pod. A rule can select the labels of both pods, so the labels of both
pods have to match the rules of both ends.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from gpuc.diagnostics.finding import Path
from gpuc.isolation.tenancy import Tenancy
from gpuc.kubernetes.addresses import Ranges, contains_pods, overlap
from gpuc.kubernetes.network_policy import EGRESS, INGRESS, Peer, TrafficRule
from gpuc.kubernetes.ports import ALL, Ports, meet
from gpuc.kubernetes.selector import LabelIndex, Selector, satisfiable
from gpuc.objects.network_policies import Policy
from gpuc.objects.object_set import NAMESPACE_NAME


@dataclass(frozen=True, eq=False)
class Allowance:
    """A rule, or missing isolation, that permits connections of a namespace in one direction."""

    direction: str
    """INGRESS or EGRESS."""
    namespace: str
    """The namespace whose policies permit the connections."""
    policy: Policy | None = None
    """The policy with the rule; None if no policy isolates the pods."""
    path: Path = ()
    """The path of the rule, or of the peer in the rule."""
    pods: Selector = ()
    """The selector that a pod of the namespace has to match."""
    excluded: tuple[Selector, ...] = ()
    """Selectors that a pod of the namespace must not match."""
    peer_pods: Selector = ()
    """The selector that the pod at the other end has to match."""
    ports: Ports = ALL
    is_declared: bool = False
    """Whether the policy declares the rule as an exception: with a reason, and for one namespace by its name."""

    @property
    def is_possible(self) -> bool:
        """Whether labels exist that match pods and none of excluded, and labels that match peer_pods."""
        return satisfiable(self.pods, self.excluded) and satisfiable(self.peer_pods, ())

    @property
    def missing_isolation(self) -> str:
        """The reason why no policy isolates the pods: "namespace red has no ingress policy"; empty with a policy."""
        if self.policy is not None:
            return ""
        if self.excluded:
            return f"the {self.direction} policies of namespace {self.namespace} do not select all of its pods"
        return f"namespace {self.namespace} has no {self.direction} policy"


class Connection(NamedTuple):
    """A possible connection from pods of one tenant to pods of another."""

    client: str
    """The namespace of the client pods."""
    server: str
    """The namespace of the server pods."""
    egress: Allowance
    """Permits the connection for the client."""
    ingress: Allowance
    """Permits the connection for the server."""
    ports: Ports
    """The ports that both ends permit."""

    @property
    def is_declared(self) -> bool:
        """Whether all policies that permit the connection declare it as an exception."""
        by_policy = [allowance for allowance in (self.egress, self.ingress) if allowance.policy is not None]
        return bool(by_policy) and all(allowance.is_declared for allowance in by_policy)


REASON_ANNOTATION = "gpuc.dev/why"
"""The annotation in which a policy gives the reason for its exceptions."""


@dataclass(frozen=True)
class Reachability:
    """The possible connections between namespaces of different tenants."""

    policies: Sequence[Policy]
    tenancy: Tenancy
    pods: Ranges | None = None
    """The address ranges of pods; None if the ranges are unknown."""
    services: Ranges = ()
    """The ClusterIPs that egress rules with an ipBlock open. The pods of a Service can belong to any tenant.

    Empty if the engine replaces the address of a Service before it judges a packet."""
    are_all_policies: bool = True
    """Whether `policies` contains all policies of the cluster. If not, unknown policies may isolate more pods."""

    @cached_property
    def connections(self) -> tuple[Connection, ...]:
        """All possible connections between different tenants."""
        return tuple(self._connections())

    @cached_property
    def isolated(self) -> Mapping[str, frozenset[str]]:
        """The tenants that have a policy for a direction, by direction."""
        found: dict[str, set[str]] = {INGRESS: set(), EGRESS: set()}
        for policy in self.policies:
            tenant = self.tenancy.tenants.get(policy.namespace)
            for direction in policy.rules if tenant else ():
                found[direction].add(str(tenant))
        return {direction: frozenset(tenants) for direction, tenants in found.items()}

    @cached_property
    def allowances(self) -> Mapping[tuple[str, str], Mapping[str, tuple[Allowance, ...]]]:
        """Allowances by direction and namespace, and then by the namespace of the other tenant."""
        by_namespace: dict[tuple[str, str], list[Policy]] = defaultdict(list)
        for policy in self.policies:
            for direction in policy.rules:
                by_namespace[direction, policy.namespace].append(policy)
        return {
            (direction, namespace): self._allowances_of_namespace(
                direction, namespace, by_namespace[direction, namespace]
            )
            for direction in (INGRESS, EGRESS)
            for namespace in self.tenancy.tenants
        }

    def _allowances_of_namespace(
        self, direction: str, namespace: str, policies: list[Policy]
    ) -> dict[str, tuple[Allowance, ...]]:
        """Returns the allowances of a namespace in one direction, by the namespace of the other tenant."""
        found: dict[str, list[Allowance]] = defaultdict(list)
        unisolated = Allowance(direction, namespace, excluded=tuple(dict.fromkeys(policy.pods for policy in policies)))
        if self.are_all_policies and unisolated.is_possible:
            for other in self._other_tenants(namespace):
                found[other].append(unisolated)
        for policy in policies:
            for rule in policy.rules[direction]:
                for allowance, others in self._allowances_of_rule(direction, policy, rule):
                    for other in others:
                        found[other].append(allowance)
        return {other: tuple(allowances) for other, allowances in found.items()}

    def _allowances_of_rule(
        self, direction: str, policy: Policy, rule: TrafficRule
    ) -> Iterator[tuple[Allowance, Sequence[str]]]:
        """Yields an allowance for every peer of a rule, with the namespaces of other tenants that the peer includes."""
        home, owners = policy.namespace, self.tenancy.tenants
        if not rule.peers:
            allowance = Allowance(direction, home, policy, rule.path, policy.pods, ports=rule.ports)
            yield allowance, self._other_tenants(home) if allowance.is_possible else ()
        for peer in rule.peers:
            others = [name for name in self._peer_namespaces(peer, direction) if owners[name] != owners[home]]
            ports = ALL if self._opens_services(peer, direction) else rule.ports  # a Service can change the port
            allowance = Allowance(
                direction, home, policy, peer.path, policy.pods, (), peer.pods, ports, _is_declared(policy, peer)
            )
            if others and allowance.is_possible:
                yield allowance, others

    def _opens_services(self, peer: Peer, direction: str) -> bool:
        """Returns whether a peer includes ClusterIPs, and the engine judges packets with these addresses."""
        return peer.block is not None and direction == EGRESS and overlap(peer.block, self.services)

    def _peer_namespaces(self, peer: Peer, direction: str) -> Sequence[str]:
        """Returns the namespaces of tenants whose pods a peer includes.

        A peer without a namespace selector includes only pods in the namespace of the policy, so no other tenant.
        """
        if peer.block is not None:
            is_open = contains_pods(peer.block, self.pods) or self._opens_services(peer, direction)
            return tuple(self.tenancy.tenants) if is_open else ()
        if peer.namespaces is None:
            return ()
        return self._tenant_namespaces.select(peer.namespaces)

    @cached_property
    def _tenant_namespaces(self) -> LabelIndex:
        """The namespaces of all tenants, indexed by their labels."""
        return LabelIndex({name: self.tenancy.namespaces[name] for name in self.tenancy.tenants})

    def _other_tenants(self, namespace: str) -> list[str]:
        """Returns the namespaces of all other tenants; an empty list if the namespace has no tenant."""
        owners = self.tenancy.tenants
        tenant = owners.get(namespace)
        return [name for name, owner in owners.items() if owner != tenant] if tenant else []

    def _connections(self) -> Iterator[Connection]:
        for server in self.tenancy.tenants:
            for client, ingress_allowances in self.allowances[INGRESS, server].items():
                for egress in self.allowances[EGRESS, client].get(server, ()):
                    for ingress in ingress_allowances:
                        ports = meet(egress.ports, ingress.ports)
                        if ports and _are_compatible(egress, ingress):
                            yield Connection(client, server, egress, ingress, ports)


def _are_compatible(egress: Allowance, ingress: Allowance) -> bool:
    """Returns whether a client pod and a server pod can exist that match both allowances."""
    return satisfiable(egress.pods + ingress.peer_pods, egress.excluded) and satisfiable(
        ingress.pods + egress.peer_pods, ingress.excluded
    )


def _is_declared(policy: Policy, peer: Peer) -> bool:
    """Returns whether a peer is a declared exception.

    The policy of a declared exception gives a reason, and the peer selects one namespace by its name.
    """
    names_one_namespace = any(
        key == NAMESPACE_NAME and not (domain.absent or domain.is_complement) and len(domain.values) == 1
        for key, domain in peer.namespaces or ()
    )
    return names_one_namespace and bool(policy.manifest.annotations.get(REASON_ANNOTATION))

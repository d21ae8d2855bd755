"""Proves that tenants are isolated: finds all pairs of namespaces whose pods can connect to each other.

A tenant chooses the labels of its pods, so the proof considers all possible labels. A connection needs a client pod and
a server pod, and the policies at both ends have to permit it. An end permits the connection if a rule allows it, or if
no policy isolates the pod. A rule can select the labels of both pods. So two namespaces can connect if there are labels
for both pods that match the rules at both ends.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from functools import cached_property
from itertools import permutations, product
from typing import TYPE_CHECKING

from msgspec import Struct

from gpuc.diagnostics.finding import Path
from gpuc.isolation.tenancy import Tenancy
from gpuc.kubernetes.addresses import Ranges, block, contains_pods, overlap, read_ranges
from gpuc.kubernetes.network_policy import EGRESS, INGRESS, Peer
from gpuc.kubernetes.ports import ALL, Ports, meet
from gpuc.kubernetes.selector import Invalid, LabelIndex, Selector, satisfiable
from gpuc.objects.network_policies import Policy
from gpuc.objects.object_set import NAMESPACE_NAME, by_first, grouped

if TYPE_CHECKING:
    from gpuc.catalog.operations import DatapathFact
    from gpuc.model import Cluster


class Allowance(Struct, frozen=True, eq=False):
    """Why one end permits connections: a rule allows them, or no policy isolates the pods of the namespace."""

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
        """Whether labels exist that match `pods` and no selector in `excluded`, and labels that match `peer_pods`."""
        return satisfiable(self.pods, self.excluded) and satisfiable(self.peer_pods, ())

    @property
    def missing_isolation(self) -> str:
        """A text if no policy isolates the pods, such as "namespace red has no ingress policy"; otherwise empty."""
        if self.policy is not None:
            return ""
        if self.excluded:
            return f"the {self.direction} policies of namespace {self.namespace} do not select all of its pods"
        return f"namespace {self.namespace} has no {self.direction} policy"


class Connection(Struct, frozen=True):
    """A connection that policies permit from pods of one tenant to pods of another tenant."""

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
        """Whether the spec declares the connection as an exception, in all policies that permit it."""
        by_policy = [allowance for allowance in (self.egress, self.ingress) if allowance.policy is not None]
        return bool(by_policy) and all(allowance.is_declared for allowance in by_policy)


Datapath = Mapping[str, "DatapathFact"]
"""The facts about an engine, by subject."""


class Network(Struct, frozen=True):
    """The properties of a cluster's network that the isolation proof takes from the spec, for example pod addresses."""

    engine: str = ""
    """The network policy engine; empty without a spec."""
    pods: Ranges | None = None
    """The address ranges of pods; None if the ranges are unknown."""
    services: Ranges = ()
    """The ClusterIPs that egress rules with an ipBlock open."""


REASON_ANNOTATION = "gpuc.dev/why"
"""The annotation in which a policy gives the reason for its exceptions."""


class Reachability(Struct, frozen=True, dict=True):
    """The connections that policies permit between namespaces of different tenants."""

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
        """All connections that policies permit between different tenants."""
        return tuple(
            Connection(client, server, egress, ingress, ports)
            for server in self.tenancy.tenants
            for client, ingress_allowances in self.allowances[INGRESS, server].items()
            for egress in self.allowances[EGRESS, client].get(server, ())
            for ingress in ingress_allowances
            if (ports := meet(egress.ports, ingress.ports))
            # A client pod and a server pod exist that match both allowances.
            and satisfiable(egress.pods + ingress.peer_pods, egress.excluded)
            and satisfiable(ingress.pods + egress.peer_pods, ingress.excluded)
        )

    @cached_property
    def tenant_policies(self) -> tuple[Policy, ...]:
        """The policies in namespaces of tenants."""
        return tuple(policy for policy in self.policies if policy.namespace in self.tenancy.tenants)

    @cached_property
    def isolated(self) -> Mapping[str, frozenset[str]]:
        """By direction (ingress or egress), the tenants with at least one NetworkPolicy for this direction."""
        owners = self.tenancy.tenants
        return {
            direction: frozenset(
                owners[policy.namespace] for policy in self.tenant_policies if direction in policy.rules
            )
            for direction in (INGRESS, EGRESS)
        }

    @cached_property
    def allowances(self) -> Mapping[tuple[str, str], Mapping[str, Sequence[Allowance]]]:
        """Why a namespace permits connections with another: by direction, this namespace, and the other namespace."""
        by_namespace = by_first(
            ((direction, policy.namespace), policy) for policy in self.policies for direction in policy.rules
        )
        return {
            key: by_first(
                (other, allowance)
                for allowance, others in self._allowances(*key, by_namespace.get(key, []))
                for other in (others if others and allowance.is_possible else ())
            )
            for key in product((INGRESS, EGRESS), self.tenancy.tenants)
        }

    def _allowances(
        self, direction: str, home: str, policies: list[Policy]
    ) -> Iterator[tuple[Allowance, Sequence[str]]]:
        """Yields the allowances of a namespace in one direction, with the namespaces of the other tenants of each.

        The first is the allowance of pods that no policy isolates.
        """
        owners = self.tenancy.tenants
        others = [name for name in owners if owners[name] != owners[home]]
        if self.are_all_policies:
            yield Allowance(direction, home, excluded=tuple(dict.fromkeys(policy.pods for policy in policies))), others
        for policy in policies:
            for _, rule, peer in policy.peers(direction):
                is_service = direction == EGRESS and overlap(peer.block or (), self.services)
                included: Iterable[str] = owners
                if not is_service and not contains_pods(peer.block or (), self.pods):
                    # Without a namespace selector, the peer is in the namespace of the policy.
                    included = () if peer.namespaces is None else self._tenant_namespaces.select(peer.namespaces)
                others = [name for name in included if owners[name] != owners[home]]
                ports = ALL if is_service else rule.ports  # a Service can change the port
                is_declared = _is_declared(policy, peer)
                allowance = Allowance(
                    direction, home, policy, peer.path, policy.pods, (), peer.pods, ports, is_declared
                )
                yield allowance, others

    @cached_property
    def _tenant_namespaces(self) -> LabelIndex:
        return LabelIndex({name: self.tenancy.namespaces[name] for name in self.tenancy.tenants})


class State(Enum):
    """Whether pods of one tenant can connect to pods of another tenant."""

    BLOCKED = "blocked"
    """No pod of the first tenant can connect to a pod of the second tenant."""
    DECLARED = "declared"
    """Only connections that policies declare as exceptions are possible."""
    OPEN = "open"
    """A connection that no policy declares as an exception is possible."""


class Verdict(Struct, frozen=True):
    """The result of the proof for two tenants: whether pods of the first one can connect to pods of the second one."""

    client: str
    """The tenant whose pods open connections."""
    server: str
    """The tenant whose pods accept connections."""
    state: State
    connections: tuple[Connection, ...]
    """All possible connections; undeclared connections come first."""

    @property
    def ports(self) -> Ports:
        """The ports of the connections that the spec does not declare; if it declares all connections, all ports."""
        counted = [
            connection for connection in self.connections if self.state is State.DECLARED or not connection.is_declared
        ]
        return tuple(dict.fromkeys(span for connection in counted for span in connection.ports))


def verdicts(reachability: Reachability, unisolated: Collection[str] = ()) -> list[Verdict]:
    """Returns the results for all pairs of a client tenant and a server tenant, sorted by their names.

    Args:
        unisolated: tenants that the spec does not isolate. A connection between two such tenants counts as declared.
    """
    owners = reachability.tenancy.tenants
    between = grouped(
        reachability.connections, lambda connection: (owners[connection.client], owners[connection.server])
    )
    results = []
    for client, server in permutations(reachability.tenancy.names, 2):
        connections = sorted(between.get((client, server), ()), key=lambda connection: connection.is_declared)
        state = State.BLOCKED
        if connections:
            is_declared = connections[0].is_declared or (client in unisolated and server in unisolated)
            state = State.DECLARED if is_declared else State.OPEN
        results.append(Verdict(client, server, state, tuple(connections)))
    return results


def _is_declared(policy: Policy, peer: Peer) -> bool:
    """Returns whether a peer is a declared exception.

    The policy of a declared exception gives a reason, and the peer selects one namespace by its name.
    """
    names_one_namespace = any(
        key == NAMESPACE_NAME and not (domain.absent or domain.is_complement) and len(domain.values) == 1
        for key, domain in peer.namespaces or ()
    )
    return names_one_namespace and bool(policy.manifest.annotations.get(REASON_ANNOTATION))


def network(cluster: "Cluster | None") -> Network:
    """Returns what the spec declares about the network; an empty Network if manifests are checked without a spec."""
    if cluster is None:
        return Network()
    try:
        pods = read_ranges(cluster.network.pod_cidrs) or None
    except Invalid:
        pods = None
    services = opened_services(cluster.datapath, cluster.network.service_cidr, cluster.api_server_service)
    return Network(cluster.network.policy_engine, pods, services)


def unisolated_tenants(cluster: "Cluster | None") -> frozenset[str]:
    """Returns the tenants that the spec of a cluster does not isolate."""
    return frozenset(tenant.name for tenant in (cluster.tenants if cluster else ()) if not tenant.isolates_network)


def opened_services(datapath: Datapath, service_cidr: str | None, api_server: str | None) -> Ranges:
    """Returns the addresses of Services that an egress rule with an ipBlock opens. Their pods may be of any tenant.

    The result is empty if the network policy engine replaces the address of a Service by the address of a pod before it
    applies policies. It is also empty without a declared range of Services. The result does not contain the Service
    kubernetes, because only the API server is behind its address.
    """
    if service_cidr is None or not judges_services(datapath):
        return ()
    try:
        return block(service_cidr, [f"{api_server}/32"] if api_server else [])
    except Invalid:
        return ()


def judges_services(datapath: Datapath) -> bool:
    """Returns whether the network policy engine applies policies before it replaces the address of a Service."""
    return "service" in datapath and "ip-block" in datapath["service"].matched_by

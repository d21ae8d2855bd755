"""The network paths of tenants before and after a change: between tenants, and to and from everything else."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from gpuc.diagnostics.finding import Path
from gpuc.isolation.datapath import opened_services
from gpuc.isolation.matrix import State as PairState
from gpuc.isolation.matrix import Verdict, verdicts
from gpuc.isolation.outside import peer_text
from gpuc.isolation.proof import REASON_ANNOTATION, Reachability
from gpuc.isolation.tenancy import TENANT_LABEL, labelled_tenancy
from gpuc.kubernetes.addresses import Ranges, read_ranges
from gpuc.kubernetes.invalid import Invalid
from gpuc.kubernetes.network_policy import EGRESS, INGRESS, Peer
from gpuc.kubernetes.ports import described
from gpuc.manifest.manifest import Manifest
from gpuc.objects.cilium_policies import CILIUM, enforced_policies
from gpuc.objects.cilium_policies import KIND as CILIUM_POLICY
from gpuc.objects.network_policies import GROUP, Policy
from gpuc.objects.object_set import NAMESPACE_NAME
from gpuc.plan.change import Change
from gpuc.plan.state import State

_KINDS = ((GROUP, "NetworkPolicy"), (CILIUM, CILIUM_POLICY), ("", "Namespace"))
"""The kinds that decide about network paths."""


@dataclass(frozen=True)
class OutsidePath:
    """Connections of the pods of a namespace with peers that are no pods of a tenant."""

    tenant: str
    direction: str
    """INGRESS or EGRESS."""
    peer: str
    """An address range, a host name, a namespace of the platform, or an entity of Cilium."""
    ports: str
    pods: str
    """The labels of the pods in words; empty for all pods of the namespace."""
    why: str
    """The reason in the policy; empty without a reason."""


Places = dict[OutsidePath, dict[str, tuple[Manifest, Path]]]
"""The namespaces with a path, and the policy that allows the path, with the path of the peer in the policy."""


def changes_network(change: Change) -> bool:
    """Returns whether a NetworkPolicy or a namespace differs, so that paths can open or close."""
    return any(pair.fields for kind in _KINDS for pair in change.pairs(*kind)) or _facts(change.before) != _facts(
        change.after
    )


@lru_cache(maxsize=4)
def reachability(state: State) -> Reachability:
    """Returns the possible connections between tenants in a state."""
    engine, pods, services = _facts(state)
    tenancy = labelled_tenancy(state.objects)
    policies = enforced_policies(state.objects, engine)
    return Reachability(policies, tenancy, pods, services, are_all_policies=state.objects.is_complete)


@lru_cache(maxsize=4)
def pair_verdicts(state: State) -> dict[tuple[str, str], Verdict]:
    """Returns the result of the isolation proof for each pair of tenants."""
    unisolated = (
        {tenant.name for tenant in state.cluster.tenants if not tenant.isolates_network} if state.cluster else ()
    )
    return {(verdict.client, verdict.server): verdict for verdict in verdicts(reachability(state), unisolated)}


def pair_state(verdict: Verdict | None) -> PairState:
    """Returns the result of a pair; blocked if the pair does not exist."""
    return PairState.BLOCKED if verdict is None else verdict.state


def unisolated(state: State) -> dict[str, frozenset[str]]:
    """Returns the namespaces of tenants without a policy that isolates all pods, by direction."""
    found: dict[str, set[str]] = {INGRESS: set(), EGRESS: set()}
    isolating = {
        (direction, policy.namespace)
        for policy in reachability(state).policies
        for direction in policy.rules
        if not policy.pods
    }
    for namespace in reachability(state).tenancy.tenants:
        for direction, names in found.items():
            if (direction, namespace) not in isolating:
                names.add(namespace)
    return {direction: frozenset(found[direction]) for direction in (INGRESS, EGRESS)}


def unisolated_changes(isolated: State, other: State) -> Iterator[tuple[str, tuple[str, ...], tuple[str, ...]]]:
    """Yields the namespaces that are isolated in a state and not in the other, by tenant: tenant, directions, names."""
    before, after = unisolated(isolated), unisolated(other)
    owners = reachability(isolated).tenancy.tenants
    found: dict[tuple[str, tuple[str, ...]], list[str]] = defaultdict(list)
    for name in sorted(owners):
        directions = tuple(one for one in (INGRESS, EGRESS) if name in after[one] and name not in before[one])
        if directions:
            found[owners[name], directions].append(name)
    for (tenant, lost), names in found.items():
        yield tenant, lost, tuple(names)


@lru_cache(maxsize=4)
def outside_paths(state: State) -> Places:
    """Returns the connections that policies of tenants allow with everything but pods of tenants."""
    places: Places = defaultdict(dict)
    owners = reachability(state).tenancy.tenants
    for policy in reachability(state).policies:
        if tenant := owners.get(policy.namespace):
            for path, field in _paths(policy, tenant):
                places[path].setdefault(policy.namespace, (policy.manifest, field))
    return dict(places)


def _paths(policy: Policy, tenant: str) -> Iterator[tuple[OutsidePath, Path]]:
    why = policy.manifest.annotations.get(REASON_ANNOTATION, "")
    pods = ", ".join(f"{key}={'|'.join(sorted(domain.values))}" for key, domain in policy.pods)
    for direction, rules in policy.rules.items():
        for rule in rules:
            if not rule.peers:
                yield OutsidePath(tenant, direction, "all addresses", described(rule.ports), pods, why), rule.path
            for peer in rule.peers:
                for name in _peer_names(peer):
                    yield OutsidePath(tenant, direction, name, described(rule.ports), pods, why), peer.path


def _peer_names(peer: Peer) -> Iterator[str]:
    """Yields a peer in words; nothing for pods of tenants, whose paths the isolation proof judges."""
    if peer.namespaces is None:
        yield from peer_text(peer)
        return
    for key, domain in peer.namespaces:
        if key == NAMESPACE_NAME and not domain.is_complement:
            yield from (f"namespace {name}" for name in sorted(domain.values))
        elif key == TENANT_LABEL:
            return
        else:
            yield f"namespaces with the label {key}"
    if not peer.namespaces:
        yield "all namespaces"


@lru_cache(maxsize=4)
def _facts(state: State) -> tuple[str, Ranges | None, Ranges]:
    """Returns the network policy engine, the addresses of pods, and the Service addresses that rules open."""
    cluster = state.cluster
    if cluster is None:
        return "", None, ()
    try:
        pods = read_ranges(cluster.aws.pod_cidrs) or None
    except Invalid:
        pods = None
    services = opened_services(cluster.datapath, cluster.aws.service_cidr, cluster.api_server_service)
    return cluster.aws.network_policy_engine, pods, services

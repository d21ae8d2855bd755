"""The network paths between tenants before and after a change, and the namespaces that policies isolate."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

from gpuc.isolation.datapath import opened_services
from gpuc.isolation.matrix import State as PairState
from gpuc.isolation.matrix import Verdict, verdicts
from gpuc.isolation.proof import Reachability
from gpuc.isolation.tenancy import labelled_tenancy
from gpuc.kubernetes.addresses import Ranges, read_ranges
from gpuc.kubernetes.invalid import Invalid
from gpuc.kubernetes.network_policy import EGRESS, INGRESS
from gpuc.manifest.manifest import Manifest
from gpuc.objects.cilium_policies import CILIUM, enforced_policies
from gpuc.objects.cilium_policies import KIND as CILIUM_POLICY
from gpuc.objects.network_policies import GROUP, Policy
from gpuc.plan.change import Change
from gpuc.plan.pruning import is_left
from gpuc.plan.state import State

_KINDS = ((GROUP, "NetworkPolicy"), (CILIUM, CILIUM_POLICY), ("", "Namespace"))
"""The kinds that decide about network paths."""


def changes_network(change: Change) -> bool:
    """Returns whether a NetworkPolicy or a namespace differs, so that paths can open or close."""
    return any(pair.fields for kind in _KINDS for pair in change.pairs(*kind)) or _facts(change.before) != _facts(
        change.after
    )


@lru_cache(maxsize=4)
def network_after(change: Change) -> State:
    """Returns the state after, with the policies that Argo CD leaves in namespaces that stay.

    Without the policies that allow connections, a policy that stays can cut its pods off.
    """
    state = change.after
    namespaces = state.objects.namespaces
    left = [
        pair.manifest
        for kind in _KINDS[:2]
        for pair in change.pairs(*kind)
        if pair.is_removed and pair.manifest.namespace in namespaces and is_left(change, pair.manifest)
    ]
    return replace(state, objects=state.objects.with_objects(left)) if left else state


@lru_cache(maxsize=4)
def reachability(state: State) -> Reachability:
    """Returns the possible connections between tenants in a state."""
    engine, pods, services = _facts(state)
    tenancy = labelled_tenancy(state.objects)
    policies = enforced_policies(state.objects, engine)
    return Reachability(policies, tenancy, pods, services, are_all_policies=state.objects.is_complete)


def isolation_that_stays(change: Change) -> Iterator[tuple[str, tuple[str, ...], Manifest]]:
    """Yields the policies that stay and cut pods off: tenant, namespaces, policy.

    Argo CD leaves the policy that isolates the pods, and prunes all policies that allow connections. If these stay too,
    the pods keep their connections.
    """
    state = network_after(change)
    found: dict[tuple[str, str, str], list[Manifest]] = defaultdict(list)
    for tenant, directions, names in unisolated_changes(state, change.after):
        for name in names:
            if _allows(change.before, name) and not _allows(state, name):
                # The state after isolates nothing in this direction, so the policy is one that stays.
                policies = _policies(state, name)
                policy = next(one.manifest for one in policies if directions[0] in one.rules and not one.pods)
                found[tenant, policy.kind, policy.name].append(policy)
    for (tenant, _, _), manifests in found.items():
        yield tenant, tuple(sorted(one.namespace for one in manifests)), manifests[0]


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


def _allows(state: State, namespace: str) -> bool:
    """Returns whether a policy of a namespace allows connections."""
    return any(any(policy.rules.values()) for policy in _policies(state, namespace))


def _policies(state: State, namespace: str) -> Iterator[Policy]:
    return (policy for policy in reachability(state).policies if policy.namespace == namespace)


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

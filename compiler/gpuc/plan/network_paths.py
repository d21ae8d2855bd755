"""The network paths between tenants before and after a change, and the namespaces that policies isolate."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache

from gpuc.diagnostics.finding import Path
from gpuc.diagnostics.words import kind_of
from gpuc.isolation.proof import Reachability, Verdict, network, unisolated_tenants, verdicts
from gpuc.isolation.proof import State as PairState
from gpuc.isolation.tenancy import labelled_tenancy
from gpuc.kubernetes.network_policy import EGRESS, INGRESS
from gpuc.kubernetes.ports import described
from gpuc.manifest.manifest import Manifest
from gpuc.objects.network_policies import GROUP, Policy
from gpuc.objects.other_policies import CILIUM, enforced_policies
from gpuc.objects.other_policies import KIND as CILIUM_POLICY
from gpuc.plan.change import Change
from gpuc.plan.impact import Raised
from gpuc.plan.pruning import with_left
from gpuc.plan.state import State

_KINDS = ((GROUP, "NetworkPolicy"), (CILIUM, CILIUM_POLICY), ("", "Namespace"))
"""The kinds that decide about network paths."""


def changes_network(change: Change) -> bool:
    """Returns whether a NetworkPolicy or a namespace differs, so that paths can open or close."""
    return any(pair.fields for kind in _KINDS for pair in change.pairs(*kind)) or (
        network(change.before.cluster) != network(change.after.cluster)
    )


@lru_cache(maxsize=4)
def network_after(change: Change) -> State:
    """Returns the state after, with the policies that Argo CD leaves in the cluster.

    Without the policies that allow connections, a policy that stays can cut its pods off.
    """
    return with_left(change, _KINDS[:2])


@lru_cache(maxsize=4)
def reachability(state: State) -> Reachability:
    """Returns the possible connections between tenants in a state."""
    facts, objects = network(state.cluster), state.objects
    policies = enforced_policies(objects, facts.engine)
    is_complete = objects.is_complete
    return Reachability(policies, labelled_tenancy(objects), facts.pods, facts.services, are_all_policies=is_complete)


def isolation_that_stays(change: Change) -> Iterator[tuple[str, tuple[str, ...], Manifest]]:
    """Yields the policies that stay and cut pods off: tenant, namespaces, policy.

    Argo CD leaves the policy that isolates the pods, and prunes all policies that allow connections. If these stay too,
    the pods keep their connections. Argo CD can leave the namespaces too, if they or their tenant are removed.
    """
    state, intended = network_after(change), _isolating(change.after)
    owners = labelled_tenancy(with_left(change, _KINDS[2:]).objects).tenants
    found: dict[tuple[str, str, str], dict[str, Manifest]] = defaultdict(dict)
    for (direction, name), policy in _isolating(state).items():
        is_lost = _allows(change.before, name) and not _allows(state, name)
        if name in owners and (direction, name) not in intended and is_lost:
            found[owners[name], policy.manifest.kind, policy.manifest.name][name] = policy.manifest
    for (tenant, _, _), manifests in found.items():
        names = tuple(sorted(manifests))
        yield tenant, names, manifests[names[0]]


@lru_cache(maxsize=4)
def pair_verdicts(state: State) -> dict[tuple[str, str], Verdict]:
    """Returns the result of the isolation proof for each pair of tenants."""
    found = verdicts(reachability(state), unisolated_tenants(state.cluster))
    return {(verdict.client, verdict.server): verdict for verdict in found}


def pair_states(state: State) -> dict[tuple[str, str], PairState]:
    """Returns the results of the isolation proof; blocked for a pair that does not exist."""
    return defaultdict(lambda: PairState.BLOCKED, {pair: found.state for pair, found in pair_verdicts(state).items()})


def unisolated(state: State) -> dict[str, frozenset[str]]:
    """Returns the namespaces of tenants without a policy that isolates all pods, by direction."""
    isolating, names = _isolating(state), reachability(state).tenancy.tenants
    return {
        direction: frozenset(name for name in names if (direction, name) not in isolating)
        for direction in (INGRESS, EGRESS)
    }


def unisolated_changes(isolated: State, other: State) -> Iterator[tuple[str, tuple[str, ...], tuple[str, ...]]]:
    """Yields the namespaces that are isolated in a state and not in the other, by tenant: tenant, directions, names."""
    before, after = unisolated(isolated), unisolated(other)
    owners = reachability(isolated).tenancy.tenants
    found: dict[tuple[str, tuple[str, ...]], list[str]] = defaultdict(list)
    for name in sorted(owners):
        directions = tuple(direction for direction in after if name in after[direction] - before[direction])
        if directions:
            found[owners[name], directions].append(name)
    for (tenant, lost), names in found.items():
        yield tenant, lost, tuple(names)


def _isolating(state: State) -> dict[tuple[str, str], Policy]:
    """Returns a policy that isolates all pods of a namespace, by direction and namespace."""
    policies = reachability(state).policies
    return {
        (direction, policy.namespace): policy for policy in policies if not policy.pods for direction in policy.rules
    }


def _allows(state: State, namespace: str) -> bool:
    """Returns whether a policy of a namespace allows connections."""
    policies = (policy for policy in reachability(state).policies if policy.namespace == namespace)
    return any(any(policy.rules.values()) for policy in policies)


def pairs_raised(
    change: Change,
    found: Iterable[Verdict],
    verb: str,
    place: Callable[[Verdict], Raised | None] = lambda verdict: None,
) -> Iterator[Raised]:
    """Yields an impact for each pair of tenants; one impact for both directions with the same ports.

    Args:
        verb: "can" or "can no longer".
        place: returns an impact with the object and the path of a pair, if no isolation of the spec changes; None for
            the Namespace of the server.
    """
    by_pair = {(verdict.client, verdict.server): verdict for verdict in found}
    for (client, server), verdict in by_pair.items():
        ports = described(verdict.ports)
        back = by_pair.get((server, client))
        if back is not None and described(back.ports) == ports:
            if client > server:
                continue
            subject, message = f"tenants {client} and {server}", f"their pods {verb} connect to each other on {ports}"
        else:
            subject, message = f"tenant {client}", f"its pods {verb} connect to pods of tenant {server} on {ports}"
        connection = verdict.connections[0]
        details = (f"for example from namespace {connection.client} to namespace {connection.server}",)
        raised = place(verdict) or Raised("", "", change.after.objects.find("", "Namespace", connection.server))
        raised = raised._replace(subject=subject, message=message, details=details)
        yield at_isolation(change, raised, client, server)


def at_isolation(change: Change, raised: Raised, *tenants: str) -> Raised:
    """Returns an impact at the isolation of the first of some tenants whose isolation changes in the spec."""
    for tenant in tenants:
        path: Path = ("spec", "tenants", tenant, "isolation")
        if path in change.changed_paths(*path):
            return raised._replace(manifest=None, path=path)
    return raised


def isolation_raised(change: Change, tenant: str, namespaces: Sequence[str], effect: str) -> Raised:
    """Returns an impact on the pods of namespaces of a tenant whose isolation begins or ends."""
    message = f"pods of {kind_of(namespaces, 'namespace')} {effect}"
    namespace = change.after.objects.find("", "Namespace", namespaces[0])
    return at_isolation(change, Raised(f"tenant {tenant}", message, namespace), tenant)

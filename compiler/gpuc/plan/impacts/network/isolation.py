"""Impacts on the network connections of tenants."""

from collections.abc import Iterable, Iterator
from functools import lru_cache

from gpuc.diagnostics.finding import Path
from gpuc.diagnostics.words import kind_of
from gpuc.isolation.proof import State as PairState
from gpuc.isolation.proof import Verdict, unisolated_tenants, verdicts
from gpuc.kubernetes.network_policy import EGRESS, INGRESS
from gpuc.kubernetes.ports import described
from gpuc.objects.object_set import by_first
from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Raised, impact
from gpuc.plan.path_changes import (
    changes_network,
    closed,
    isolation_that_stays,
    network_after,
    opened,
    reachability,
    unisolated,
)
from gpuc.plan.state import State as ClusterState
from gpuc.plan.tenant_changes import tenants


@impact("IMP407", Level.RESTRICTS)
def isolation_begins(change: Change) -> Impacts:
    """Namespaces of a tenant get NetworkPolicies that isolate their pods."""
    yield from _isolation_changes(change, ends=False)


_EFFECTS = {INGRESS: "get connections from everywhere", EGRESS: "connect to every address"}


@impact("IMP406", Level.DISRUPTS)
def isolation_ends(change: Change) -> Impacts:
    """Namespaces of a tenant lose the NetworkPolicies that isolate their pods."""
    yield from _isolation_changes(change, ends=True)


@impact("IMP404", Level.NONE)
def outside_opens(change: Change) -> Impacts:
    """Pods of a tenant get connections to or from further addresses, host names or namespaces of the platform."""
    yield from opened(change)


@impact("IMP405", Level.RESTRICTS)
def outside_closes(change: Change) -> Impacts:
    """Pods of a tenant lose connections to or from addresses, host names or namespaces of the platform."""
    yield from closed(change)


@impact("IMP401", Level.DISRUPTS)
def tenants_connect(change: Change) -> Impacts:
    """Pods of a tenant can connect to pods of another tenant, which was not possible before the change."""
    opens = [after for before, after in _pair_changes(change) if after and after.state is _OPEN is not _state(before)]
    yield from _pairs_raised(change, opens, "can", at_policy=True)


@impact("IMP403", Level.RESTRICTS)
def tenants_separated(change: Change) -> Impacts:
    """Pods of a tenant can no longer connect to pods of another tenant."""
    pairs = _pair_changes(change)
    closes = [before for before, after in pairs if before and after and _state(before) is not _BLOCKED is _state(after)]
    yield from _pairs_raised(change, closes, "can no longer")


@impact("IMP402", Level.NONE)
def tenants_declared(change: Change) -> Impacts:
    """Pods of a tenant can connect to pods of another tenant, because the spec now declares this connection."""
    pairs = ((_state(before), after) for before, after in _pair_changes(change))
    declared = [after for was, after in pairs if after and after.state is PairState.DECLARED and was is _BLOCKED]
    yield from _pairs_raised(change, declared, "can")


@impact("IMP408", Level.DISRUPTS)
def policies_stay(change: Change) -> Impacts:
    """Argo CD leaves a policy that isolates pods, but prunes the policies that allow their connections."""
    removed_tenants = {tenant.tenant for tenant in tenants(change) if tenant.is_removed}
    for tenant, namespaces, manifest in isolation_that_stays(change):
        where = kind_of(namespaces, "namespace")
        message = f"{manifest.kind} {manifest.name} stays in {where}: pods lose all connections, DNS included"
        kind = manifest.kind.lower()
        commands = (f"kubectl delete {kind} --namespace {name} {manifest.name}" for name in namespaces)
        details = [f"to end the isolation: {'; '.join(commands)}"]
        removed = [name for name in namespaces if name not in change.after.objects.namespaces]
        if removed:
            details.insert(0, f"merge when the work in {', '.join(removed)} has ended")
        raised = Raised(f"tenant {tenant}", message, manifest, (), tuple(details))
        if removed and change.before.source is not None:
            path: Path = ("spec", "tenants", tenant)
            path = path if tenant in removed_tenants else (*path, "namespaces", removed[0])
            yield raised._replace(manifest=None, path=path)
        else:
            yield _at_isolation(change, raised, tenant)


@lru_cache(maxsize=4)
def _pair_verdicts(state: ClusterState) -> dict[tuple[str, str], Verdict]:
    """Returns the result of the isolation proof for each pair of tenants."""
    found = verdicts(reachability(state), unisolated_tenants(state.cluster))
    return {(verdict.client, verdict.server): verdict for verdict in found}


_OPEN, _BLOCKED = PairState.OPEN, PairState.BLOCKED


def _pair_changes(change: Change) -> Iterator[tuple[Verdict | None, Verdict | None]]:
    """Yields the results of the isolation proof before and after the change, for each pair of tenants of a state."""
    if changes_network(change):
        before, after = _pair_verdicts(change.before), _pair_verdicts(network_after(change))
        yield from ((before.get(pair), after.get(pair)) for pair in {**before, **after})


def _state(verdict: Verdict | None) -> PairState:
    """Returns the result for a pair of tenants; blocked for a pair that does not exist."""
    return verdict.state if verdict else _BLOCKED


def _isolation_changes(change: Change, *, ends: bool) -> Iterator[Raised]:
    """Yields an impact for the pods of a tenant's namespaces that are isolated in one state and not in the other."""
    if not changes_network(change):
        return
    isolated, other = (change.before, network_after(change)) if ends else (network_after(change), change.before)
    before, after = unisolated(isolated), unisolated(other)
    owners = reachability(isolated).tenancy.tenants
    begun = by_first(
        ((owners[name], tuple(direction for direction in after if name in after[direction] - before[direction])), name)
        for name in sorted(owners)
    )
    for (tenant, directions), names in begun.items():
        if not directions:
            continue
        effects = " and ".join(_EFFECTS[direction] for direction in directions)
        effect = f"can {effects}" if ends else "have only the connections that NetworkPolicies allow"
        namespace = change.after.objects.find("", "Namespace", names[0])
        raised = Raised(f"tenant {tenant}", f"pods of {kind_of(names, 'namespace')} {effect}", namespace)
        yield _at_isolation(change, raised, tenant)


def _pairs_raised(change: Change, found: Iterable[Verdict], verb: str, *, at_policy: bool = False) -> Iterator[Raised]:
    """Yields an impact for each pair of tenants; one impact for both directions with the same ports.

    Args:
        verb: "can" or "can no longer".
        at_policy: whether the impact is at the policy that allows the connections, if no isolation of the spec changes,
            instead of the Namespace of the server.
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
        raised = Raised(subject, message, change.after.objects.find("", "Namespace", connection.server), (), details)
        allowance = connection.ingress if connection.ingress.policy else connection.egress
        if at_policy and allowance.policy:
            raised = raised._replace(manifest=allowance.policy.manifest, path=allowance.path)
        yield _at_isolation(change, raised, client, server)


def _at_isolation(change: Change, raised: Raised, *tenants: str) -> Raised:
    """Returns an impact at the key `isolation` of the first of some tenants for which the spec changes this key."""
    for tenant in tenants:
        path: Path = ("spec", "tenants", tenant, "isolation")
        if path in change.changed_paths(*path):
            return raised._replace(manifest=None, path=path)
    return raised

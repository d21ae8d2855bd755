"""Impacts on network paths of tenants."""

from gpuc.diagnostics.finding import Path
from gpuc.diagnostics.words import kind_of
from gpuc.isolation.proof import State, Verdict
from gpuc.kubernetes.network_policy import EGRESS, INGRESS
from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Raised, impact
from gpuc.plan.network_paths import (
    at_isolation,
    changes_network,
    isolation_raised,
    isolation_that_stays,
    network_after,
    pair_states,
    pair_verdicts,
    pairs_raised,
    unisolated_changes,
)
from gpuc.plan.path_changes import closed, opened
from gpuc.plan.tenant_changes import tenants


@impact("IMP407", Level.RESTRICTS, source="kubernetes.io/docs/concepts/services-networking/network-policies")
def isolation_begins(change: Change) -> Impacts:
    """Namespaces of a tenant get NetworkPolicies that isolate their pods.

    Only connections that a NetworkPolicy allows are possible. New connections of running pods to other addresses fail.
    NetworkPolicies filter TCP, UDP and SCTP, not EFA traffic, and not the traffic of pods on the host network. The node
    of a pod can always connect to the pod.
    """
    effect = "have only the connections that NetworkPolicies allow"
    if changes_network(change):
        for tenant, _, names in unisolated_changes(network_after(change), change.before):
            yield isolation_raised(change, tenant, names, effect)


_EFFECTS = {INGRESS: "get connections from everywhere", EGRESS: "connect to every address"}


@impact("IMP406", Level.DISRUPTS, source="kubernetes.io/docs/concepts/services-networking/network-policies")
def isolation_ends(change: Change) -> Impacts:
    """Namespaces of a tenant lose the NetworkPolicies that isolate their pods.

    Pods that no NetworkPolicy selects get connections from everywhere, or connect to every address. The level is
    disrupts, although nothing that runs is disturbed: the border of the tenant is gone.
    """
    if changes_network(change):
        for tenant, directions, names in unisolated_changes(change.before, network_after(change)):
            effects = " and ".join(_EFFECTS[direction] for direction in directions)
            yield isolation_raised(change, tenant, names, f"can {effects}")


@impact("IMP404", Level.NONE, source="kubernetes.io/docs/concepts/services-networking/network-policies")
def outside_opens(change: Change) -> Impacts:
    """Pods of a tenant get a network path to or from addresses, host names or namespaces of the platform.

    Nothing that runs is disturbed. Data can leave the tenant over a path to the outside, and requests can reach its
    pods over a path from the outside.
    """
    yield from opened(change)


@impact("IMP405", Level.RESTRICTS, source="kubernetes.io/docs/concepts/services-networking/network-policies")
def outside_closes(change: Change) -> Impacts:
    """Pods of a tenant lose a network path to or from addresses, host names or namespaces of the platform.

    New connections of running pods fail. Whether open connections end depends on the network policy engine.
    """
    yield from closed(change)


@impact("IMP401", Level.DISRUPTS, source="kubernetes.io/docs/concepts/services-networking/network-policies")
def tenants_connect(change: Change) -> Impacts:
    """Pods of a tenant can connect to pods of another tenant, and could not before.

    The isolation proof of the state after has an open pair that the state before does not have. The level is
    disrupts, although nothing that runs is disturbed: every later attack or mistake crosses the border of a tenant.
    """
    if changes_network(change):
        before, after = pair_states(change.before), pair_verdicts(network_after(change))
        opened = {pair: found for pair, found in after.items() if found.state is State.OPEN is not before[pair]}
        yield from pairs_raised(change, opened.values(), "can", _place)


def _place(verdict: Verdict) -> Raised | None:
    """Returns the policy that allows the connections."""
    connection = verdict.connections[0]
    allowance = connection.ingress if connection.ingress.policy else connection.egress
    return Raised("", "", allowance.policy.manifest, allowance.path) if allowance.policy else None


@impact("IMP403", Level.RESTRICTS, source="kubernetes.io/docs/concepts/services-networking/network-policies")
def tenants_separated(change: Change) -> Impacts:
    """Pods of a tenant can no longer connect to pods of another tenant.

    New connections fail. Whether open connections end depends on the network policy engine. NetworkPolicies filter TCP,
    UDP and SCTP, not EFA traffic, and not the traffic of pods on the host network. The node of a pod can always connect
    to the pod.
    """
    if changes_network(change):
        before, after = pair_verdicts(change.before), pair_verdicts(network_after(change))
        found = [
            verdict
            for pair, verdict in before.items()
            if pair in after and verdict.state is not State.BLOCKED is after[pair].state
        ]
        yield from pairs_raised(change, found, "can no longer")


@impact("IMP402", Level.NONE, source="kubernetes.io/docs/concepts/services-networking/network-policies")
def tenants_declared(change: Change) -> Impacts:
    """Pods of a tenant can connect to pods of another tenant, and the spec declares this.

    Tenants without network isolation have declared that other tenants without network isolation may connect.
    """
    if changes_network(change):
        before, after = pair_states(change.before), pair_verdicts(network_after(change))
        found = [
            verdict
            for pair, verdict in after.items()
            if verdict.state is State.DECLARED and before[pair] is State.BLOCKED
        ]
        yield from pairs_raised(change, found, "can")


@impact("IMP408", Level.DISRUPTS, source="argo-cd v3.5 docs/user-guide/sync-options.md, No Prune Resources")
def policies_stay(change: Change) -> Impacts:
    """The policies that isolate namespaces stay, and Argo CD prunes the policies that allow connections.

    NetworkPolicy default-deny is protected from pruning. If the isolation of a tenant ends in the spec, or if a tenant
    or a namespace is removed, the pods that run have no connections at all, DNS included, until an administrator
    deletes the policy. With `delivery.prune: never`, all policies stay: the namespaces stay isolated, and their pods
    keep the connections of before.
    """
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
            yield at_isolation(change, raised, tenant)

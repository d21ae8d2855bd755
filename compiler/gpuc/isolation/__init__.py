"""Checks that tenants are isolated: pods of a tenant must not connect to pods of another tenant."""

from collections import defaultdict
from collections.abc import Iterator

from gpuc.diagnostics.finding import Path, rule_table
from gpuc.diagnostics.place import place
from gpuc.diagnostics.words import short_list, with_kind
from gpuc.isolation.constraints import HOST_NETWORK, ROLLOUT_ACTIONS, Constraints, pod_security
from gpuc.isolation.proof import Allowance, Connection, Reachability
from gpuc.isolation.tenancy import TENANT_LABEL, Tenancy, labelled_tenancy
from gpuc.kubernetes.network_policy import EGRESS, INGRESS
from gpuc.kubernetes.ports import described
from gpuc.objects.network_policies import Policy
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import ObjectSet, by_first
from gpuc.objects.other_policies import enforced_policies

rule_of = rule_table(__file__)
"""Declares a rule of rules.toml by its id."""
OPEN_PAIR = rule_of("ISO001")
OPEN_SIDE = rule_of("ISO002")
HOST_NETWORK_OPEN = rule_of("ISO003")
FOREIGN_NAMESPACE = rule_of("ISO004")


def findings(objects: ObjectSet) -> Iterator[ObjectFinding]:
    """Yields findings about connections between tenants. The label gpuc.dev/tenant of a namespace names its tenant."""
    tenancy, policies = labelled_tenancy(objects), objects.once(enforced_policies)
    if objects.is_complete:
        yield from _foreign_namespaces(objects, policies)
    if not tenancy.tenants:
        return
    reachability = Reachability(policies, tenancy, are_all_policies=objects.is_complete)
    yield from _open_namespaces(objects, reachability)
    if objects.is_complete:
        yield from _host_networks(objects, tenancy, reachability.isolated[INGRESS] | reachability.isolated[EGRESS])


def _open_namespaces(objects: ObjectSet, reachability: Reachability) -> Iterator[ObjectFinding]:
    """Yields a finding for each rule that permits pods of other tenants, and for each namespace without isolation."""
    undeclared = (connection for connection in reachability.connections if not connection.is_declared)
    used_by = by_first(
        (end, connection) for connection in undeclared for end in (connection.ingress, connection.egress)
    )
    for (direction, namespace), allowances_by_namespace in reachability.allowances.items():
        if reachability.tenancy.tenants[namespace] not in reachability.isolated[direction]:
            continue
        peers = by_first((allowance, peer) for peer, found in allowances_by_namespace.items() for allowance in found)
        for allowance, names in peers.items():
            yield from _finding(objects, reachability.tenancy, allowance, names, used_by.get(allowance, []))


def _finding(
    objects: ObjectSet, tenancy: Tenancy, allowance: Allowance, peers: list[str], connections: list[Connection]
) -> Iterator[ObjectFinding]:
    """Yields the finding for an allowance, if its namespace or its policy is known.

    Args:
        peers: the namespaces of other tenants that the allowance permits.
        connections: the undeclared connections that use the allowance.
    """
    manifest = allowance.policy.manifest if allowance.policy else objects.find("", "Namespace", allowance.namespace)
    if manifest is None or (allowance.is_declared and not connections):
        return
    is_ingress = allowance.direction == INGRESS
    reason = f"{allowance.missing_isolation}; " if allowance.missing_isolation else ""
    own = f"namespace {allowance.namespace}"
    if connections:
        names = {connection.client if is_ingress else connection.server for connection in connections}
        client, server = with_kind("namespace", names), own
        if not is_ingress:
            client, server = server, client
        ends = {_end(connection.egress if is_ingress else connection.ingress) for connection in connections}
        ports = described(span for connection in connections for span in connection.ports)
        message = (
            f"{reason}pods of {client} can connect to pods of {server} on {ports}; "
            f"the other end permits the connection: {short_list(ends)}"
        )
        yield ObjectFinding(OPEN_PAIR, manifest, allowance.path, message)
        return
    tenants = {tenancy.tenants[name] for name in peers}
    direction = "from" if is_ingress else "to"
    message = (
        f"{reason}{own} permits connections {direction} pods of {with_kind('tenant', tenants)} "
        f"on {described(allowance.ports)}; only the policies of the other end block these connections"
    )
    yield ObjectFinding(OPEN_SIDE, manifest, allowance.path, message)


def _end(allowance: Allowance) -> str:
    """Returns the policy, file and path of an allowance, or the reason why no policy isolates the pods."""
    if allowance.policy is None:
        return allowance.missing_isolation
    manifest = allowance.policy.manifest
    return f"{manifest} ({manifest.file}: {place(allowance.path)})"


def _host_networks(objects: ObjectSet, tenancy: Tenancy, isolated: frozenset[str]) -> Iterator[ObjectFinding]:
    """Yields a finding for every namespace of an isolated tenant whose pods can use the host network.

    A constraint in rollout, which only warns, also prevents the finding.
    """
    constraints = Constraints(objects)
    for manifest in objects.of("", "Namespace"):
        labels = tenancy.namespaces[manifest.name]
        if tenancy.tenants.get(manifest.name) not in isolated or pod_security(labels) != "privileged":
            continue
        if constraints.find(HOST_NETWORK, manifest.name, labels, ROLLOUT_ACTIONS) is None:
            message = (
                f"namespace {manifest.name} enforces neither Pod Security level baseline nor restricted, "
                f"and no constraint checks hostNetwork"
            )
            yield ObjectFinding(HOST_NETWORK_OPEN, manifest, ("metadata", "labels"), message)


def _foreign_namespaces(objects: ObjectSet, policies: list[Policy]) -> Iterator[ObjectFinding]:
    """Yields a finding for every namespace whose policies allow tenants, but not the tenant of the namespace."""
    allowed: dict[str, set[str]] = defaultdict(set)
    for policy in policies:
        allowed[policy.namespace] |= _named_tenants(policy, INGRESS) & _named_tenants(policy, EGRESS)
    for manifest in objects.of("", "Namespace"):
        tenants, label = allowed.get(manifest.name), manifest.labels.get(TENANT_LABEL)
        if tenants and label not in tenants:
            path: Path = ("metadata", "labels", TENANT_LABEL) if label is not None else ("metadata", "labels")
            actual = f"the label of namespace {manifest.name} is {label}"
            if label is None:
                actual = f"namespace {manifest.name} does not have the label"
            message = (
                f"the policies of namespace {manifest.name} allow namespaces with label {TENANT_LABEL} "
                f"{short_list(tenants)}, but {actual}"
            )
            yield ObjectFinding(FOREIGN_NAMESPACE, manifest, path, message)


def _named_tenants(policy: Policy, direction: str) -> set[str]:
    """Returns the tenants that the namespace selectors of a policy name in one direction."""
    return {tenant for _, _, peer in policy.peers(direction) for tenant in peer.named(TENANT_LABEL)}

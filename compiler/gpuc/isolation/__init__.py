"""Tenants are isolated on the pod network: for every pair of them, whatever labels their pods carry."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from gpuc.diagnostics.finding import Path, Severity, declare_rule
from gpuc.isolation.fences import HOST_NETWORK, STAGES, Fences, pod_security
from gpuc.isolation.proof import Gate, Opening, Reach
from gpuc.isolation.summarize import few
from gpuc.isolation.tenancy import TENANT_LABEL, Tenancy, labelled_tenancy
from gpuc.kubernetes.network_policy import EGRESS, INGRESS
from gpuc.kubernetes.ports import described
from gpuc.manifest.manifest import Manifest
from gpuc.objects.network_policies import GROUP, read_policies
from gpuc.objects.object_finding import ObjectFinding, place
from gpuc.objects.object_set import ObjectSet, dig, items
from gpuc.objects.selectors import wanted_labels

OPEN_PAIR = declare_rule(
    "ISO001",
    Severity.ERROR,
    "Pods of one tenant reach pods of another.",
    "Policies only add up: two pods connect once an egress rule lets the caller out, or no policy isolates it, and an "
    "ingress rule lets it in, or none isolates the called. Pods' labels are their tenant's choice and fence nobody.",
    source="k8s.io/api v0.35 networking/v1; kubernetes.io/docs/concepts/services-networking/network-policies",
)
OPEN_SIDE = declare_rule(
    "ISO002",
    Severity.WARNING,
    "A namespace is open to other tenants, and only their own policies stand between.",
    "Both ends have to allow a connection. Where one end allows it, one mistake at the other end opens the pair.",
    source="kubernetes.io/docs/concepts/services-networking/network-policies",
)
HOST_NETWORK_OPEN = declare_rule(
    "ISO003",
    Severity.WARNING,
    "Pods of an isolated tenant may leave the pod network.",
    "NetworkPolicies hold on the pod network only: a pod on the host's network reaches every pod of the cluster.",
    source="kubernetes.io/docs/concepts/services-networking/network-policies, hostNetwork pods",
)
FOREIGN_NAMESPACE = declare_rule(
    "ISO004",
    Severity.ERROR,
    "A namespace's NetworkPolicies name another tenant than its label does.",
    "Its own tenant's pods are shut out, and whoever has the named tenant's label is let in.",
    source="kubernetes.io/docs/concepts/services-networking/network-policies, namespaceSelector",
)


def findings(tree: ObjectSet) -> Iterator[ObjectFinding]:
    """What opens a tenant to another. Tenants are told by the label gpuc.dev/tenant of their namespaces."""
    tenancy = labelled_tenancy(tree)
    if tree.is_complete:
        yield from _foreign_namespaces(tree)
    if not tenancy.tenants:
        return
    reach = Reach(read_policies(tree.of(GROUP, "NetworkPolicy")), tenancy, counts_absence=tree.is_complete)
    yield from _open_gates(tree, reach)
    if tree.is_complete:
        yield from _host_networks(tree, tenancy, reach.isolated[INGRESS] | reach.isolated[EGRESS])


def _open_gates(tree: ObjectSet, reach: Reach) -> Iterator[ObjectFinding]:
    """One finding per rule, or per namespace that nothing isolates, with all that come through it."""
    through: dict[Gate, list[Opening]] = defaultdict(list)
    for opening in reach.openings:
        if not opening.is_declared:
            through[opening.ingress].append(opening)
            through[opening.egress].append(opening)
    for (direction, namespace), gates in reach.gates.items():
        if reach.tenancy.tenants[namespace] not in reach.isolated[direction]:
            continue
        others: dict[Gate, list[str]] = defaultdict(list)
        for other, each in gates.items():
            for gate in each:
                others[gate].append(other)
        for gate, names in others.items():
            yield from _of_gate(tree, reach.tenancy, gate, names, through.get(gate, []))


def _of_gate(
    tree: ObjectSet, tenancy: Tenancy, gate: Gate, others: list[str], openings: list[Opening]
) -> Iterator[ObjectFinding]:
    manifest = gate.policy.manifest if gate.policy else tree.find("", "Namespace", gate.namespace)
    if manifest is None or (gate.is_declared and not openings):
        return
    is_inward = gate.direction == INGRESS
    if openings:
        reached = few({opening.caller if is_inward else opening.called for opening in openings})
        ends = {_told(opening.egress if is_inward else opening.ingress) for opening in openings}
        ports = described(span for opening in openings for span in opening.ports)
        who = f"pods of {reached} reach pods of it" if is_inward else f"pods of it reach pods of {reached}"
        other_end = f"the other end is open by {few(ends)}"
        yield ObjectFinding(OPEN_PAIR, manifest, gate.path, f"{_subject(gate)} {who} on {ports}; {other_end}")
        return
    tenants = few({tenancy.tenants[name] for name in others})
    verb = "lets in" if is_inward else "lets out to"
    message = (
        f"{_subject(gate)} {verb} pods of tenants {tenants} on {described(gate.ports)}; only their policies refuse"
    )
    yield ObjectFinding(OPEN_SIDE, manifest, gate.path, message)


def _subject(gate: Gate) -> str:
    if gate.policy is not None:
        return f"namespace {gate.namespace}:"
    if gate.avoided:
        return f"namespace {gate.namespace}: no {gate.direction} policy selects pods with other labels;"
    return f"namespace {gate.namespace}: no policy isolates its {gate.direction};"


def _told(gate: Gate) -> str:
    """A gate as a place: its policy's file, name and path."""
    if gate.policy is None:
        return f"no {gate.direction} policy over {'all ' if gate.avoided else ''}pods of {gate.namespace}"
    manifest = gate.policy.manifest
    return f"{manifest} ({manifest.file}: {place(gate.path)})"


def _host_networks(tree: ObjectSet, tenancy: Tenancy, isolated: frozenset[str]) -> Iterator[ObjectFinding]:
    """A constraint that only warns yet is on its way to deny: how far a policy is, its spec decides."""
    fences = Fences(tree)
    for manifest in tree.of("", "Namespace"):
        labels = tenancy.namespaces[manifest.name]
        if tenancy.tenants.get(manifest.name) not in isolated or pod_security(labels) != "privileged":
            continue
        if fences.judging(HOST_NETWORK, "", "Pod", manifest.name, labels, STAGES) is None:
            message = "Pod Security enforces nothing here, and no constraint judges hostNetwork"
            yield ObjectFinding(HOST_NETWORK_OPEN, manifest, ("metadata", "labels"), message)


def _foreign_namespaces(tree: ObjectSet) -> Iterator[ObjectFinding]:
    """Namespaces whose own policies open them to tenants, but never to the tenant that their label names."""
    named: dict[str, set[str]] = defaultdict(set)
    for policy in tree.of(GROUP, "NetworkPolicy"):
        named[policy.namespace] |= _tenants_named(policy)
    for manifest in tree.of("", "Namespace"):
        tenants, own = named.get(manifest.name), manifest.labels.get(TENANT_LABEL)
        if tenants and own not in tenants:
            path: Path = ("metadata", "labels", TENANT_LABEL) if own is not None else ("metadata", "labels")
            labelled = f"labelled for {own}" if own is not None else "without that label"
            message = f"its policies open it to namespaces of {TENANT_LABEL} {few(tenants)}, but it is {labelled}"
            yield ObjectFinding(FOREIGN_NAMESPACE, manifest, path, message)


def _tenants_named(policy: Manifest) -> set[str]:
    """Tenants that a policy opens to in both directions, as one does to its own."""
    return set(_tenants_in(policy, "ingress", "from")) & set(_tenants_in(policy, "egress", "to"))


def _tenants_in(policy: Manifest, direction: str, peers: str) -> Iterator[str]:
    for _, rule in items(dig(policy.body, "spec", direction)):
        for _, peer in items(dig(rule, peers)):
            for _, key, values in wanted_labels(dig(peer, "namespaceSelector"), ()):
                yield from values if key == TENANT_LABEL else ()

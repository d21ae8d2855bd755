"""The assumptions of the isolation proof: conditions besides NetworkPolicies that have to be true."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from enum import Enum
from ipaddress import IPv4Address, IPv6Address
from typing import NamedTuple

from gpuc.isolation.access import excess_permissions
from gpuc.isolation.access.permissions import ADMISSION, NAMESPACES, NETWORK, ROLES, WILDCARD
from gpuc.isolation.access.subjects import Access
from gpuc.isolation.constraints import HOST_NETWORK, SECONDARY_NETWORKS, Constraints, pod_security
from gpuc.isolation.proof import Reachability
from gpuc.isolation.short_list import short_list
from gpuc.kubernetes.addresses import Ranges, contains_pods
from gpuc.kubernetes.network_policy import Peer
from gpuc.objects.network_policies import GROUP, OTHER_KINDS
from gpuc.objects.object_set import ObjectSet, dig, group, pairs


class Basis(Enum):
    """The evidence for an assumption."""

    CHECKED = "checked"
    """The objects show that it is true."""
    DECLARED = "declared"
    """The spec declares it."""
    ASSUMED = "assumed"
    """There is no evidence for or against it."""
    BROKEN = "broken"
    """The objects show that it is false, so the proof does not hold."""


class Assumption(NamedTuple):
    """A condition that has to be true for the proof to hold in the cluster."""

    claim: str
    basis: Basis
    reason: str


def assumptions(objects: ObjectSet, reachability: Reachability, engine: str = "") -> list[Assumption]:
    """All assumptions of a proof.

    Args:
        engine: the network policy engine that a spec declares; empty if there is no spec.
    """
    constraints = Constraints(objects)
    found = [
        _engine(engine),
        _permissions(objects, reachability),
        _host_network(objects, reachability, constraints),
        _secondary_networks(objects, reachability, constraints),
    ]
    parts: tuple[Callable[[ObjectSet, Reachability], Iterator[Assumption]], ...] = (
        _addresses, _forwarding, _unlabelled, _remote_memory, _other_kinds
    )  # fmt: skip
    return found + [assumption for part in parts for assumption in part(objects, reachability)]


def _engine(engine: str) -> Assumption:
    """Source: aws/amazon-vpc-cni-k8s README, NETWORK_POLICY_ENFORCING_MODE"""
    claim = "NetworkPolicies are enforced in both directions"
    if engine == "none":
        return Assumption(claim, Basis.BROKEN, "the spec declares networkPolicyEngine: none")
    if engine:
        late = (
            "; except in strict mode, a new pod is open until its policies are applied" if engine == "vpc-cni" else ""
        )
        return Assumption(claim, Basis.DECLARED, f"the spec declares networkPolicyEngine: {engine}{late}")
    return Assumption(claim, Basis.ASSUMED, "the objects do not show the network plugin of the cluster")


def _permissions(objects: ObjectSet, reachability: Reachability) -> Assumption:
    claim = "no tenant can change NetworkPolicies, Namespaces or its own permissions"
    access = Access(objects, reachability.tenancy)
    relevant = (NETWORK, NAMESPACES, ROLES, WILDCARD, ADMISSION)
    violations = {
        f"{excess.bound_role.subject} through {excess.bound_role.binding} ({excess.bound_role.binding.file})"
        for excess in excess_permissions(objects, reachability.tenancy, access)
        if excess.rule in relevant
    }
    if violations:
        return Assumption(claim, Basis.BROKEN, f"these subjects can: {short_list(violations)}")
    if not access.bound_roles:
        return Assumption(claim, Basis.ASSUMED, "no binding gives a role to a tenant")
    subjects = {bound_role.subject for bound_role in access.bound_roles}
    bindings = {id(bound_role.binding) for bound_role in access.bound_roles}
    return Assumption(
        claim, Basis.CHECKED, f"none of {len(subjects)} subjects in {len(bindings)} bindings has such a permission"
    )


def _host_network(objects: ObjectSet, reachability: Reachability, constraints: Constraints) -> Assumption:
    claim = "no pod of a tenant uses the host network"
    spaces = reachability.tenancy.namespaces
    level = {name: pod_security(spaces[name]) for name in reachability.tenancy.tenants}
    privileged = [name for name in level if level[name] == "privileged"]
    denied_by = {name: constraints.find(HOST_NETWORK, "", "Pod", name, spaces[name]) for name in privileged}
    unprotected = [name for name, constraint in denied_by.items() if constraint is None]
    if unprotected:
        basis = Basis.BROKEN if objects.is_complete else Basis.ASSUMED
        return Assumption(claim, basis, f"neither Pod Security nor a constraint denies it in {short_list(unprotected)}")
    restricted = len(level) - len(privileged)
    by_level = f"Pod Security denies it in {restricted} namespaces" if restricted else ""
    names = short_list({str(constraint) for constraint in denied_by.values()})
    by_constraint = f"{names} denies it in {len(privileged)} namespaces" if privileged else ""
    return Assumption(claim, Basis.CHECKED, ", ".join(filter(None, (by_level, by_constraint))))


def _secondary_networks(objects: ObjectSet, reachability: Reachability, constraints: Constraints) -> Assumption:
    claim = "no pod of a tenant uses a secondary network"
    spaces = reachability.tenancy.namespaces
    unprotected = [
        name
        for name in reachability.tenancy.tenants
        if constraints.find(SECONDARY_NETWORKS, "", "Pod", name, spaces[name]) is None
    ]
    if not unprotected:
        return Assumption(claim, Basis.CHECKED, "constraints deny the annotation that attaches a network")
    attachments = objects.of("k8s.cni.cncf.io", "NetworkAttachmentDefinition")
    if attachments:
        return Assumption(claim, Basis.BROKEN, f"pods of {short_list(unprotected)} can use {attachments[0]}")
    return Assumption(
        claim, Basis.ASSUMED, f"no constraint denies it in {short_list(unprotected)}, but no network is defined"
    )


def _peers(reachability: Reachability) -> Iterator[tuple[str, Peer]]:
    """The peers in policies of tenants, with their direction."""
    for policy in reachability.policies:
        if policy.namespace in reachability.tenancy.tenants:
            for direction, rules in policy.rules.items():
                yield from ((direction, peer) for rule in rules for peer in rule.peers)


def _addresses(objects: ObjectSet, reachability: Reachability) -> Iterator[Assumption]:
    blocks = {peer.block for _, peer in _peers(reachability) if peer.block is not None}
    claim = "the address ranges in rules contain no pods, and no load balancers of tenants"
    if blocks and reachability.pods is None:
        unknown = {_shown(block) for block in blocks if not contains_pods(block, None)}
        if unknown:
            yield Assumption(
                claim, Basis.ASSUMED, f"the addresses of pods are unknown; rules allow {short_list(unknown)}"
            )
    elif blocks:
        overlapping = [block for block in blocks if contains_pods(block, reachability.pods)]
        if not overlapping:
            reason = f"none of {len(blocks)} ranges overlaps podCidrs; the addresses of load balancers are not checked"
            yield Assumption(claim, Basis.DECLARED, reason)


def _shown(block: Ranges) -> str:
    """The first and the last address of a block."""
    kinds = {4: IPv4Address, 6: IPv6Address}
    return f"{kinds[block[0][0]](block[0][1])}-{kinds[block[-1][0]](block[-1][2])}" if block else "no address"


def _forwarding(objects: ObjectSet, reachability: Reachability) -> Iterator[Assumption]:
    named = {
        value
        for _, peer in _peers(reachability)
        for key, domain in peer.namespaces or ()
        if key == "kubernetes.io/metadata.name" and not domain.is_complement
        for value in domain.values
        if value not in reachability.tenancy.tenants
    }
    if named:
        claim = "platform namespaces do not forward traffic between tenants"
        yield Assumption(claim, Basis.ASSUMED, f"rules allow connections between tenants and {short_list(named)}")


def _unlabelled(objects: ObjectSet, reachability: Reachability) -> Iterator[Assumption]:
    unlabelled = reachability.tenancy.unlabelled
    if unlabelled:
        claim = "namespaces without a Namespace object have no labels that a rule selects"
        yield Assumption(claim, Basis.ASSUMED, f"the labels of {short_list(unlabelled)} are unknown")


def _remote_memory(objects: ObjectSet, reachability: Reachability) -> Iterator[Assumption]:
    """NetworkPolicies do not apply to EFA and RDMA, which bypass the kernel."""
    users = {
        tenant
        for quota in objects.of("", "ResourceQuota")
        if (tenant := reachability.tenancy.tenants.get(quota.namespace))
        for key, value in pairs(dig(quota.body, "spec", "hard"))
        if isinstance(key, str) and ("amazonaws.com/efa" in key or "rdma/" in key) and value not in ("0", 0)
    }
    if len(users) > 1:
        claim = "tenants do not communicate over EFA or RDMA, which bypass NetworkPolicies"
        yield Assumption(
            claim, Basis.ASSUMED, f"{short_list(users)} can use EFA or RDMA, which only security groups restrict"
        )


def _other_kinds(objects: ObjectSet, reachability: Reachability) -> Iterator[Assumption]:
    kinds = Counter(
        manifest.kind for manifest in objects.manifests if manifest.kind in OTHER_KINDS.get(group(manifest), ())
    )
    if kinds:
        counted = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
        claim = "policies of other kinds do not allow more connections"
        yield Assumption(claim, Basis.ASSUMED, f"{counted}; only NetworkPolicies of {GROUP} are evaluated")

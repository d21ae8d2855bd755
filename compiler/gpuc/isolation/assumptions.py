"""The assumptions of the isolation proof: conditions that must be true so that NetworkPolicies isolate tenants."""

from collections import Counter
from collections.abc import Collection, Iterator
from enum import Enum
from typing import NamedTuple

from gpuc.catalog.rows import read
from gpuc.cluster.pools import Pools
from gpuc.diagnostics.words import short_list, with_kind
from gpuc.isolation.access import Access, excess_permissions
from gpuc.isolation.access.permissions import ADMISSION, NAMESPACES, NETWORK, ROLES, WILDCARD
from gpuc.isolation.constraints import (
    ATTACHMENTS,
    HOST_NETWORK,
    NAMED_STORAGE,
    SECONDARY_NETWORKS,
    UNCOUNTED,
    Constraints,
    pod_security,
)  # fmt: skip
from gpuc.isolation.proof import Datapath, Reachability, judges_services
from gpuc.kubernetes.addresses import contains_pods, is_internet, range_text
from gpuc.kubernetes.network_policy import EGRESS
from gpuc.model.names import POOL_LABEL
from gpuc.objects.object_set import NAMESPACE_NAME, ObjectSet, dig, pairs
from gpuc.objects.other_policies import can_allow, other_policies, policy_generators

_NETWORK_KINDS = (
    ("k8s.cni.cncf.io", "NetworkAttachmentDefinition"),
    ("k8s.ovn.org", "ClusterUserDefinedNetwork"),
    ("k8s.ovn.org", "UserDefinedNetwork"),
)
"""API groups and kinds of secondary networks."""


_ENDPOINTS = {("", "endpoints"), ("discovery.k8s.io", "endpointslices")}
_WRITE = frozenset(("*", "create", "patch", "update"))


class Basis(Enum):
    """The evidence that gpuc has for an assumption of the isolation proof, from "checked" to "broken" (known false)."""

    CHECKED = "checked"
    """The objects show that the assumption is true."""
    DECLARED = "declared"
    """The spec declares that the assumption is true."""
    ASSUMED = "assumed"
    """The objects and the spec show neither that the assumption is true nor that the assumption is false."""
    UNPROVEN = "unproven"
    """gpuc cannot evaluate an object that can make the assumption false, so the proof does not hold."""
    BROKEN = "broken"
    """The objects show that the assumption is false, so the proof does not hold."""


class Assumption(NamedTuple):
    """A condition that has to be true in the cluster so that the isolation proof is correct."""

    claim: str
    basis: Basis
    reason: str
    """The evidence in words, such as the names of the namespaces for which the claim is false."""


def assumptions(objects: ObjectSet, reachability: Reachability, engine: str = "") -> list[Assumption]:
    """Returns the conditions that must be true so that the isolation proof of a cluster is correct, with the evidence.

    Args:
        engine: the network policy engine that the spec declares; an empty string without a spec.
    """
    constraints = Constraints(objects)
    return [
        _engine(engine),
        _permissions(objects, reachability),
        _host_network(objects, reachability, constraints),
        _secondary_networks(objects, reachability, constraints),
        *_addresses(reachability),
        *_forwarding(reachability),
        *_unlabelled(reachability),
        *_unplaced(reachability),
        *_remote_memory(objects, reachability),
        *_mounts(objects, reachability, constraints),
        *_uncounted(objects, reachability, constraints),
        *_other_kinds(objects),
    ]


def _engine(engine: str) -> Assumption:
    """Returns the assumption that the cluster enforces NetworkPolicies.

    Source: aws/amazon-vpc-cni-k8s README, NETWORK_POLICY_ENFORCING_MODE
    """
    claim = "NetworkPolicies are enforced in both directions"
    if engine == "none":
        return Assumption(claim, Basis.BROKEN, "the spec declares network.policyEngine: none")
    if engine:
        late = "; outside of strict mode, a new pod permits all connections until the engine applies its policies"
        reason = f"the spec declares network.policyEngine: {engine}{late if engine == 'vpc-cni' else ''}"
        return Assumption(claim, Basis.DECLARED, reason)
    return Assumption(claim, Basis.ASSUMED, "the objects do not show the network plugin of the cluster")


def _permissions(objects: ObjectSet, reachability: Reachability) -> Assumption:
    claim = "no tenant can change NetworkPolicies, Namespaces or its own permissions"
    access = Access(objects, reachability.tenancy)
    relevant = (NETWORK, NAMESPACES, ROLES, WILDCARD, ADMISSION)
    violations = {
        f"{excess.bound_role.subject} through {excess.bound_role.binding} ({excess.bound_role.binding.file})"
        for excess in excess_permissions(access)
        if excess.rule in relevant
    }
    subjects = {bound_role.subject for bound_role in access.bound_roles}
    bindings = {id(bound_role.binding) for bound_role in access.bound_roles}
    checked = f"none of {len(subjects)} subjects in {len(bindings)} bindings has such a permission"
    return _about_permissions(claim, access, violations, checked)


def _about_permissions(claim: str, access: Access, violations: Collection[str], checked: str) -> Assumption:
    """Returns the assumption that no tenant has certain permissions.

    Args:
        violations: the subjects that have such a permission, in words.
        checked: the evidence if roles of tenants give no such permission.
    """
    if violations:
        return Assumption(claim, Basis.BROKEN, f"these subjects have such a permission: {short_list(violations)}")
    if not access.bound_roles:
        return Assumption(claim, Basis.ASSUMED, "no binding gives a role to a tenant")
    return Assumption(claim, Basis.CHECKED, checked)


def _host_network(objects: ObjectSet, reachability: Reachability, constraints: Constraints) -> Assumption:
    """Returns the assumption about pods on the host network, to which NetworkPolicies do not apply."""
    claim = "no pod of a tenant uses the host network"
    namespaces = reachability.tenancy.namespaces
    level = {name: pod_security(namespaces[name]) for name in reachability.tenancy.tenants}
    privileged = [name for name in level if level[name] == "privileged"]
    denied_by = {name: constraints.find(HOST_NETWORK, name, namespaces[name]) for name in privileged}
    unprotected = [name for name, constraint in denied_by.items() if constraint is None]
    if unprotected:
        basis = Basis.BROKEN if objects.is_complete else Basis.ASSUMED
        where = with_kind("namespace", unprotected)
        return Assumption(claim, basis, f"neither Pod Security nor a constraint denies hostNetwork in {where}")
    restricted = len(level) - len(privileged)
    by_level = f"Pod Security denies hostNetwork in {restricted} namespaces" if restricted else ""
    names = short_list({str(constraint) for constraint in denied_by.values()})
    by_constraint = f"{names} denies hostNetwork in {len(privileged)} namespaces" if privileged else ""
    return Assumption(claim, Basis.CHECKED, ", ".join(filter(None, (by_level, by_constraint))))


def _secondary_networks(objects: ObjectSet, reachability: Reachability, constraints: Constraints) -> Assumption:
    """Returns the assumption about secondary networks, to which NetworkPolicies do not apply.

    OVN-Kubernetes creates a NetworkAttachmentDefinition in every namespace of a user-defined network.
    """
    claim = "no pod of a tenant uses a secondary network"
    namespaces = reachability.tenancy.namespaces
    unprotected = [
        name
        for name in reachability.tenancy.tenants
        if constraints.find(SECONDARY_NETWORKS, name, namespaces[name]) is None
    ]
    if not unprotected:
        return Assumption(claim, Basis.CHECKED, f"constraints deny the annotation {ATTACHMENTS}")
    where = with_kind("namespace", unprotected)
    attachments = [manifest for kind in _NETWORK_KINDS for manifest in objects.of(*kind)]
    if attachments:
        return Assumption(claim, Basis.BROKEN, f"pods of {where} can use {attachments[0]}")
    reason = f"no constraint denies {ATTACHMENTS} in {where}"
    return Assumption(claim, Basis.ASSUMED, f"{reason}, but no NetworkAttachmentDefinition exists")


def _addresses(reachability: Reachability) -> Iterator[Assumption]:
    """Yields an assumption if rules allow address ranges, which can contain addresses of pods.

    A load balancer in an ingress range connects only to its own targets. A load balancer in an egress range also
    accepts the connections of another tenant.
    """
    allowed = [
        (direction, peer.block)
        for policy in reachability.tenant_policies
        for direction, _, peer in policy.peers()
        if peer.block
    ]
    blocks = {block for _, block in allowed}
    outgoing = [block for direction, block in allowed if direction == EGRESS]
    kind = "private load balancers" if any(map(is_internet, outgoing)) else "load balancers"
    of_egress = f", and those of egress no {kind} of tenants" if outgoing else ""
    claim = f"the address ranges in rules contain no pods{of_egress}"
    if blocks and reachability.pods is None:
        unknown = {range_text(block[0], block[-1]) for block in blocks if not contains_pods(block, None)}
        if unknown:
            reason = f"the addresses of pods are unknown; rules allow {short_list(unknown)}"
            yield Assumption(claim, Basis.ASSUMED, reason)
    elif blocks:
        overlapping = [block for block in blocks if contains_pods(block, reachability.pods)]
        if not overlapping:
            cidrs = "podCidrs or serviceCidr" if reachability.services else "podCidrs"
            unchecked = "; the addresses of load balancers are not checked" if outgoing else ""
            reason = f"none of {len(blocks)} ranges overlaps {cidrs}{unchecked}"
            yield Assumption(claim, Basis.DECLARED, reason)


def _forwarding(reachability: Reachability) -> Iterator[Assumption]:
    """Yields an assumption if tenants can connect to platform namespaces, whose pods can be proxies."""
    peers = (peer for policy in reachability.tenant_policies for _, _, peer in policy.peers())
    named = {name for peer in peers for name in peer.named(NAMESPACE_NAME)}
    platform_namespaces = named - reachability.tenancy.tenants.keys()
    if platform_namespaces:
        claim = "platform namespaces do not forward traffic between tenants"
        reason = f"rules allow connections between tenants and {with_kind('namespace', platform_namespaces)}"
        yield Assumption(claim, Basis.ASSUMED, reason)


def _unlabelled(reachability: Reachability) -> Iterator[Assumption]:
    """Yields an assumption if the labels of namespaces are unknown."""
    unlabelled = reachability.tenancy.unlabelled
    if unlabelled:
        claim = "namespaces without a Namespace object have no labels that a rule selects"
        yield Assumption(claim, Basis.ASSUMED, f"the labels of {with_kind('namespace', unlabelled)} are unknown")


def _unplaced(reachability: Reachability) -> Iterator[Assumption]:
    """Yields an assumption if policies name no namespace.

    The assumption is that these policies are in the namespace default, although kubectl or Kustomize can set another
    namespace. The proof does not hold if such a policy allows connections of all pods of its namespace.
    """
    policies = [policy for policy in reachability.policies if not policy.manifest.namespace]
    open_policies = [policy for policy in policies if not policy.pods and any(policy.rules.values())]
    if policies:
        names = short_list(f"{policy.manifest} ({policy.manifest.file})" for policy in open_policies or policies)
        basis = Basis.UNPROVEN if open_policies else Basis.ASSUMED
        yield Assumption("policies without a namespace are in namespace default", basis, f"{names}: no namespace")


def _remote_memory(objects: ObjectSet, reachability: Reachability) -> Iterator[Assumption]:
    """Yields an assumption if several tenants have quota of EFA or RDMA devices.

    NetworkPolicies do not apply to the traffic of these devices, which bypasses the kernel.
    """
    users = {
        tenant
        for quota in objects.of("", "ResourceQuota")
        if (tenant := reachability.tenancy.tenants.get(quota.namespace))
        for key, value in pairs(dig(quota.body, "spec", "hard"))
        if isinstance(key, str) and ("amazonaws.com/efa" in key or "rdma/" in key) and value not in ("0", 0)
    }
    if len(users) > 1:
        claim = "tenants do not communicate over EFA or RDMA, which bypass NetworkPolicies"
        reason = f"{with_kind('tenant', users)} can use EFA or RDMA, which only security groups restrict"
        yield Assumption(claim, Basis.ASSUMED, reason)


def _mounts(objects: ObjectSet, reachability: Reachability, constraints: Constraints) -> Iterator[Assumption]:
    """Yields an assumption if tenants have volumes of an NFS server. Nodes mount them outside of NetworkPolicies.

    Some volumes name their server. Pod Security restricted, or a constraint, refuses these volumes. For a volume with a
    claim, the platform chooses the server and the path.
    """
    tenancy = reachability.tenancy
    volumes = objects.of("", "PersistentVolume")
    used = [row for row in volumes if dig(row.body, "spec", "claimRef", "namespace") in tenancy.tenants]
    servers = dict.fromkeys(str(server) for row in used if (server := dig(row.body, "spec", "nfs", "server")))
    if not servers:
        return
    claim = "tenants mount no NFS exports of other tenants; nodes mount them, and NetworkPolicies do not apply"
    free = [
        name
        for name in tenancy.tenants
        if pod_security(labels := tenancy.namespaces[name]) != "restricted"
        and constraints.find(NAMED_STORAGE, name, labels) is None
    ]
    if free:
        reason = f"pods of {with_kind('namespace', free)} can name any export that {short_list(servers)} gives to nodes"
        yield Assumption(claim, Basis.ASSUMED, reason)
    else:
        reason = (
            "pods that name a server are refused in all namespaces of tenants, and claims have the folders of the spec"
        )
        yield Assumption(claim, Basis.CHECKED, reason)


def _uncounted(objects: ObjectSet, reachability: Reachability, constraints: Constraints) -> Iterator[Assumption]:
    """Yields an assumption if tenants share node pools without GPUs: quotas must count all pods on these nodes."""
    pools = objects.once(Pools).pools
    if not any(taint.key == POOL_LABEL for pool in pools for taint in pool.taints):
        return
    claim, kinds = (
        "quotas count the pods of tenants on nodes without GPUs",
        "Deployments, StatefulSets, DaemonSets, CronJobs and Pods",
    )
    namespaces, tenants = reachability.tenancy.namespaces, reachability.tenancy.tenants
    free = [name for name in tenants if constraints.find(UNCOUNTED, name, namespaces[name]) is None]
    if free:
        reason = f"no constraint refuses {kinds} outside of quotas in {with_kind('namespace', free)}"
        yield Assumption(claim, Basis.ASSUMED, f"{reason}: they are not counted")
    else:
        reason = f"constraints refuse {kinds} outside of quotas; not counted are pods of other namespaces"
        yield Assumption(claim, Basis.CHECKED, reason)


def _other_kinds(objects: ObjectSet) -> Iterator[Assumption]:
    """Yields an assumption if the input has policies that gpuc cannot evaluate, such as AdminNetworkPolicy."""
    claim = "policies of other kinds do not allow more connections"
    policies, generators = other_policies(objects), policy_generators(objects)
    allowing = [f"{policy} ({policy.file})" for policy in policies if can_allow(policy)]
    if allowing:
        reason = f"gpuc cannot evaluate {short_list(allowing)}, with rules that can allow connections"
        yield Assumption(claim, Basis.UNPROVEN, reason)
    elif policies:
        counted = ", ".join(f"{count} {kind}" for kind, count in sorted(Counter(p.kind for p in policies).items()))
        yield Assumption(claim, Basis.CHECKED, f"no rule of {counted} allows connections")
    if generators:
        names = short_list(f"{generator} ({generator.file})" for generator in generators)
        reason = f"the NetworkPolicies that {names} generates are not in the input"
        yield Assumption("generated policies do not allow more connections", Basis.UNPROVEN, reason)


def datapath_assumptions(objects: ObjectSet, reachability: Reachability, datapath: Datapath) -> Iterator[Assumption]:
    """Yields the assumption that no tenant can write Endpoints or EndpointSlices, if the network engine needs it.

    Some engines compare NetworkPolicies with the address of a Service, not with the addresses of its pods. A tenant may
    connect to its own Service. If it can write endpoints, it can make this Service lead to pods of other tenants.
    """
    if not judges_services(datapath):
        return
    access = Access(objects, reachability.tenancy)
    writers = {
        f"{bound_role.subject} through {bound_role.binding}"
        for bound_role in access.bound_roles
        for rule in access.rules(bound_role)
        if rule.grant.verbs & _WRITE
        and any(
            {group, "*"} & set(rule.grant.groups) and {resource, "*"} & set(rule.grant.resources)
            for group, resource in _ENDPOINTS
        )
    }
    claim, checked = "no tenant can write Endpoints or EndpointSlices", "no role of a tenant has such a permission"
    yield _about_permissions(claim, access, writers, checked)


def statements(datapath: Datapath) -> list[tuple[str, str]]:
    """Returns sentences about how a network engine applies NetworkPolicies, each with its sources."""
    texts = read("datapaths")["sources"]
    return [(fact.statement, "; ".join(texts[key] for key in fact.source)) for fact in datapath.values()]

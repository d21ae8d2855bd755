"""What the proof rests on beside the policies: what the tree itself shows, and what has to be taken on trust."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from enum import Enum
from ipaddress import IPv4Address, IPv6Address
from typing import NamedTuple

from gpuc.isolation.access import excess_permissions
from gpuc.isolation.access.powers import ADMISSION, NAMESPACES, NETWORK, ROLES, WILDCARD
from gpuc.isolation.access.subjects import Access
from gpuc.isolation.fences import HOST_NETWORK, SECONDARY_NETWORKS, Fences, pod_security
from gpuc.isolation.proof import Reach
from gpuc.isolation.summarize import few
from gpuc.kubernetes.addresses import Ranges, holds_pods
from gpuc.kubernetes.network_policy import Peer
from gpuc.objects.network_policies import GROUP, OTHER_KINDS
from gpuc.objects.object_set import ObjectSet, dig, group, pairs


class Basis(Enum):
    """Why an assumption may be believed."""

    CHECKED = "checked"
    """The objects show it."""
    DECLARED = "declared"
    """The spec says so."""
    ASSUMED = "assumed"
    """Nothing here shows it, and nothing contradicts it."""
    BROKEN = "broken"
    """The objects show the opposite: the proof does not hold."""


class Assumption(NamedTuple):
    """One thing that has to be true for the proof to hold in the cluster."""

    what: str
    basis: Basis
    because: str


def assumptions(tree: ObjectSet, reach: Reach, engine: str = "") -> list[Assumption]:
    """All of them. The engine is the one that a spec declares, empty where nobody does."""
    fences = Fences(tree)
    found = [_engine(engine), _rights(tree, reach), _host_network(tree, reach, fences), _networks(tree, reach, fences)]
    parts: tuple[Callable[[ObjectSet, Reach], Iterator[Assumption]], ...] = (
        _addresses, _relays, _unlabelled, _remote_memory, _other_kinds
    )  # fmt: skip
    return found + [each for part in parts for each in part(tree, reach)]


def _engine(engine: str) -> Assumption:
    """Source: aws/amazon-vpc-cni-k8s README, NETWORK_POLICY_ENFORCING_MODE"""
    what = "NetworkPolicies are enforced, in both directions"
    if engine == "none":
        return Assumption(what, Basis.BROKEN, "the spec declares networkPolicyEngine: none")
    if engine:
        late = "; unless its mode is strict, a pod is open until its policies arrive" if engine == "vpc-cni" else ""
        return Assumption(what, Basis.DECLARED, f"the spec declares networkPolicyEngine: {engine}{late}")
    return Assumption(what, Basis.ASSUMED, "the network plugin of the cluster is not among the objects")


def _rights(tree: ObjectSet, reach: Reach) -> Assumption:
    what = "no tenant changes NetworkPolicies, Namespaces or its own rights"
    access = Access(tree, reach.tenancy)
    counted = (NETWORK, NAMESPACES, ROLES, WILDCARD, ADMISSION)
    loose = {
        f"{each.bound.subject} by {each.bound.binding} ({each.bound.binding.file})"
        for each in excess_permissions(tree, reach.tenancy, access)
        if each.rule in counted
    }
    if loose:
        return Assumption(what, Basis.BROKEN, f"they may: {few(loose)}")
    if not access.bound:
        return Assumption(what, Basis.ASSUMED, "no role is bound to anybody who works for a tenant")
    subjects = {each.subject for each in access.bound}
    bindings = {id(each.binding) for each in access.bound}
    return Assumption(what, Basis.CHECKED, f"{len(subjects)} subjects in {len(bindings)} bindings have no such right")


def _host_network(tree: ObjectSet, reach: Reach, fences: Fences) -> Assumption:
    what = "no pod of a tenant uses the host's network"
    spaces = reach.tenancy.namespaces
    level = {name: pod_security(spaces[name]) for name in reach.tenancy.tenants}
    bare = [name for name in level if level[name] == "privileged"]
    fenced = {name: fences.judging(HOST_NETWORK, "", "Pod", name, spaces[name]) for name in bare}
    open_spaces = [name for name, constraint in fenced.items() if constraint is None]
    if open_spaces:
        basis = Basis.BROKEN if tree.is_complete else Basis.ASSUMED
        return Assumption(what, basis, f"neither Pod Security nor a constraint refuses it in {few(open_spaces)}")
    by_level = f"Pod Security refuses it in {len(level) - len(bare)} namespaces" if len(level) > len(bare) else ""
    constraints = few({str(one) for one in fenced.values()})
    by_fence = f"{constraints} in {len(bare)}" if bare else ""
    return Assumption(what, Basis.CHECKED, ", ".join(filter(None, (by_level, by_fence))))


def _networks(tree: ObjectSet, reach: Reach, fences: Fences) -> Assumption:
    what = "no pod of a tenant attaches a secondary network"
    spaces = reach.tenancy.namespaces
    bare = [
        name
        for name in reach.tenancy.tenants
        if fences.judging(SECONDARY_NETWORKS, "", "Pod", name, spaces[name]) is None
    ]
    if not bare:
        return Assumption(what, Basis.CHECKED, "a constraint refuses the annotations that ask for one")
    attachments = tree.of("k8s.cni.cncf.io", "NetworkAttachmentDefinition")
    if attachments:
        return Assumption(what, Basis.BROKEN, f"{attachments[0]} stands open to {few(bare)}")
    return Assumption(what, Basis.ASSUMED, f"no constraint refuses it in {few(bare)}, but there is none to attach")


def _peers(reach: Reach) -> Iterator[tuple[str, Peer]]:
    """The peers of tenants' policies, each with its direction."""
    for policy in reach.policies:
        if policy.namespace in reach.tenancy.tenants:
            for direction, rules in policy.rules.items():
                yield from ((direction, peer) for rule in rules for peer in rule.peers)


def _addresses(tree: ObjectSet, reach: Reach) -> Iterator[Assumption]:
    blocks = {peer.block for _, peer in _peers(reach) if peer.block is not None}
    what = "no pod, and no load balancer before a tenant's pods, has an address in the ranges that rules name"
    if blocks and reach.pods is None:
        unsure = {_shown(block) for block in blocks if not holds_pods(block, None)}
        if unsure:
            yield Assumption(what, Basis.ASSUMED, f"where pods have theirs is not known; rules name {few(unsure)}")
    elif blocks:
        meeting = [block for block in blocks if holds_pods(block, reach.pods)]
        if not meeting:
            because = f"none of {len(blocks)} ranges meets podCidrs; load balancers are taken on trust"
            yield Assumption(what, Basis.DECLARED, because)


def _shown(block: Ranges) -> str:
    """A block by its first address and its last."""
    kinds = {4: IPv4Address, 6: IPv6Address}
    return f"{kinds[block[0][0]](block[0][1])}-{kinds[block[-1][0]](block[-1][2])}" if block else "no address"


def _relays(tree: ObjectSet, reach: Reach) -> Iterator[Assumption]:
    named = {
        value
        for _, peer in _peers(reach)
        for key, domain in peer.namespaces or ()
        if key == "kubernetes.io/metadata.name" and not domain.is_complement
        for value in domain.values
        if value not in reach.tenancy.tenants
    }
    if named:
        what = "the platform's namespaces pass nothing on from one tenant to another"
        yield Assumption(what, Basis.ASSUMED, f"rules let tenants and {few(named)} talk")


def _unlabelled(tree: ObjectSet, reach: Reach) -> Iterator[Assumption]:
    bare = reach.tenancy.unlabelled
    if bare:
        what = "namespaces without a Namespace object carry no labels that a rule selects"
        yield Assumption(what, Basis.ASSUMED, f"the labels of {few(bare)} are not known")


def _remote_memory(tree: ObjectSet, reach: Reach) -> Iterator[Assumption]:
    """NetworkPolicies do not see what network cards send past the kernel."""
    users = {
        tenant
        for quota in tree.of("", "ResourceQuota")
        if (tenant := reach.tenancy.tenants.get(quota.namespace))
        for key, value in pairs(dig(quota.body, "spec", "hard"))
        if isinstance(key, str) and ("amazonaws.com/efa" in key or "rdma/" in key) and value not in ("0", 0)
    }
    if len(users) > 1:
        what = "no tenant sends to another past the kernel, by EFA or RDMA"
        yield Assumption(what, Basis.ASSUMED, f"{few(users)} may use such cards, which only security groups fence")


def _other_kinds(tree: ObjectSet, reach: Reach) -> Iterator[Assumption]:
    kinds = Counter(each.kind for each in tree.manifests if each.kind in OTHER_KINDS.get(group(each), ()))
    if kinds:
        counted = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
        what = "policies of other kinds open nothing"
        yield Assumption(what, Basis.ASSUMED, f"{counted}: only NetworkPolicies of {GROUP} are judged")

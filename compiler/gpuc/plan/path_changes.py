"""The network paths of tenants that a change opens or closes.

A network path is an allowed connection between pods of a tenant and anything but the pods of tenants, for example an
address range, a host name or a namespace of the platform.
"""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

from gpuc.diagnostics.finding import Path
from gpuc.diagnostics.words import first_names, kind_of
from gpuc.isolation.outside import peer_text
from gpuc.isolation.proof import REASON_ANNOTATION, Reachability, network
from gpuc.isolation.tenancy import TENANT_LABEL, labelled_tenancy
from gpuc.kubernetes.addresses import Ranges, subtract
from gpuc.kubernetes.network_policy import EGRESS, INGRESS, Peer
from gpuc.kubernetes.ports import Ports, described, without
from gpuc.kubernetes.selector import Selector
from gpuc.manifest.manifest import Manifest
from gpuc.objects.network_policies import GROUP, Policy
from gpuc.objects.object_set import NAMESPACE_NAME, by_first, grouped
from gpuc.objects.other_policies import CILIUM, enforced_policies
from gpuc.objects.other_policies import KIND as CILIUM_POLICY
from gpuc.plan.change import Change
from gpuc.plan.impact import Raised
from gpuc.plan.pruning import with_left
from gpuc.plan.state import State

_KINDS = ((GROUP, "NetworkPolicy"), (CILIUM, CILIUM_POLICY), ("", "Namespace"))
"""The kinds that decide about network paths."""


def changes_network(change: Change) -> bool:
    """Returns whether a network policy, a namespace or the cluster network differs, so that paths can open or close."""
    return any(pair.fields for kind in _KINDS for pair in change.pairs(*kind)) or (
        network(change.before.cluster) != network(change.after.cluster)
    )


@lru_cache(maxsize=4)
def network_after(change: Change) -> State:
    """Returns the state after the change, plus the removed network policies that Argo CD leaves in the cluster.

    Argo CD can prune the policies that allow connections, and leave a policy that isolates the pods. Then the pods
    cannot connect to anything.
    """
    return with_left(change, _KINDS[:2])


@lru_cache(maxsize=4)
def reachability(state: State) -> Reachability:
    """Returns which connections between tenants the network policies of a state allow."""
    facts, objects = network(state.cluster), state.objects
    policies = enforced_policies(objects, facts.engine)
    is_complete = objects.is_complete
    return Reachability(policies, labelled_tenancy(objects), facts.pods, facts.services, are_all_policies=is_complete)


def isolation_that_stays(change: Change) -> Iterator[tuple[str, tuple[str, ...], Manifest]]:
    """Yields the policies that stay in the cluster and cut off pods, each as (tenant, namespaces, policy).

    Argo CD leaves the policy, which isolates the pods, but prunes all policies that allow connections of these pods.
    The namespaces of the pods can also be removed from the spec, if Argo CD leaves them in the cluster.
    """
    state, intended = network_after(change), _isolating(change.after)
    owners = labelled_tenancy(with_left(change, _KINDS[2:]).objects).tenants
    staying = (
        policy
        for (direction, name), policy in _isolating(state).items()
        if name in owners and (direction, name) not in intended
        if _allows(change.before, name) and not _allows(state, name)
    )
    groups = grouped(staying, lambda policy: (owners[policy.namespace], policy.manifest.kind, policy.manifest.name))
    for (tenant, _, _), policies in groups.items():
        manifests = {policy.namespace: policy.manifest for policy in policies}
        yield tenant, tuple(sorted(manifests)), manifests[min(manifests)]


def unisolated(state: State) -> dict[str, frozenset[str]]:
    """Returns the tenants' namespaces in which no policy isolates all pods, by direction: ingress and egress."""
    isolating, names = _isolating(state), reachability(state).tenancy.tenants
    return {
        direction: frozenset(name for name in names if (direction, name) not in isolating)
        for direction in (INGRESS, EGRESS)
    }


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


_ALL = "all addresses"


class OutsidePath(NamedTuple):
    """Connections that a policy allows between pods of a namespace and a peer, which is not a pod of a tenant."""

    tenant: str
    namespace: str
    direction: str
    """INGRESS or EGRESS."""
    peer: str
    """A host name, a namespace of the platform, or an entity of Cilium, in words; empty for addresses."""
    block: Ranges
    """The addresses; empty for other peers."""
    ports: Ports
    pods: str
    """The labels of the pods in words; empty for all pods of the namespace."""
    why: str
    """The reason in the policy; empty without a reason."""
    manifest: Manifest
    """The policy that allows the connections."""
    path: Path
    """The path of the peer in the policy."""

    @property
    def peers(self) -> tuple[str, ...]:
        """The texts that name the peer: one text, or a text for each range of addresses."""
        return tuple(peer_text(Peer(self.path, block=self.block))) if self.block else (self.peer,)


@lru_cache(maxsize=4)
def outside_paths(state: State) -> tuple[OutsidePath, ...]:
    """Returns the allowed connections between tenants and peers that are no pods of tenants, for example host names."""
    proof = reachability(state)
    owners = proof.tenancy.tenants
    return tuple(path for policy in proof.tenant_policies for path in _paths(policy, owners[policy.namespace]))


def remainder(path: OutsidePath, others: Iterable[OutsidePath]) -> Iterator[OutsidePath]:
    """Yields the addresses and ports of a network path that no other network path of the same namespace includes."""
    boxes = [(path.block, path.ports)]
    for other in others:
        if other.direction == path.direction and other.pods in ("", path.pods):
            is_same_peer = other.peer == _ALL or (other.peer == path.peer and not other.block)
            boxes = [part for box in boxes for part in _without(box, other, is_same_peer)]
    for block, ports in boxes:
        yield path._replace(block=block, ports=ports)


def _without(box: tuple[Ranges, Ports], other: OutsidePath, is_same_peer: bool) -> Iterator[tuple[Ranges, Ports]]:
    """Yields the parts of the addresses and ports of a path that another path does not include."""
    block, ports = box
    if not is_same_peer and not (block and other.block):
        yield box
        return
    left, outside = without(ports, other.ports), () if is_same_peer else _subtracted(block, other.block)
    if outside:
        yield outside, ports
    inside = _subtracted(block, outside)
    if left and (inside or is_same_peer):
        yield inside, left


def _subtracted(block: Ranges, others: Ranges) -> Ranges:
    for excluded in others:
        block = subtract(block, excluded)
    return block


def _paths(policy: Policy, tenant: str) -> Iterator[OutsidePath]:
    why = policy.manifest.annotations.get(REASON_ANNOTATION, "")
    pods = _label_words(policy.pods)
    for direction, rules in policy.rules.items():
        for rule in rules:
            known = OutsidePath(
                tenant, policy.namespace, direction, _ALL, (), rule.ports, pods, why, policy.manifest, rule.path
            )
            if not rule.peers:
                yield known
            for peer in rule.peers:
                if peer.block:
                    yield known._replace(peer="", block=peer.block, path=peer.path)
                else:
                    yield from (known._replace(peer=name, path=peer.path) for name in _peer_names(peer))


def _peer_names(peer: Peer) -> Iterator[str]:
    """Yields a peer without addresses in words; nothing for pods of tenants, which the isolation proof judges."""
    if peer.namespaces is None:
        yield from peer_text(peer)
        return
    pods = f"pods {_label_words(peer.pods)} of " if peer.pods else ""
    for key, domain in peer.namespaces:
        if key == NAMESPACE_NAME and not domain.is_complement:
            yield from (f"{pods}namespace {name}" for name in sorted(domain.values))
        elif key == TENANT_LABEL:
            return
        else:
            yield f"{pods}namespaces with the label {key}"
    if not peer.namespaces:
        yield f"{pods}all namespaces"


def _label_words(selector: Selector) -> str:
    return ", ".join(f"{key}={'|'.join(sorted(domain.values))}" for key, domain in selector)


_PEERS = 4
"""The maximum number of peers in a message."""


def opened(change: Change) -> Iterator[Raised]:
    """Yields an impact for the network paths that namespaces have only after the change.

    A path of a new namespace counts only if an existing namespace lacks this path. The reason: the platform opens some
    paths for all namespaces, for example to the DNS servers.
    """
    if not change.before.exists or not changes_network(change):
        return
    known = reachability(change.before).tenancy.tenants
    new = [path for path in outside_paths(network_after(change)) if path.namespace not in known]
    old = [path for path in outside_paths(network_after(change)) if path.namespace in known]
    found = chain(_missing(old, change.before), _unusual(new, change.before))
    yield from _grouped(found, "can")


def closed(change: Change) -> Iterator[Raised]:
    """Yields an impact for the network paths that namespaces lose, if the namespaces stay.

    Namespaces that lose all connections are left out, because the impact `policies_stay` reports them.
    """
    if change.after.exists and changes_network(change):
        cut = {name for _, names, _ in isolation_that_stays(change) for name in names}
        kept = reachability(network_after(change)).tenancy.tenants.keys() - cut
        paths = (path for path in outside_paths(change.before) if path.namespace in kept)
        yield from _grouped(_missing(paths, network_after(change)), "can no longer")


def _missing(paths: Iterable[OutsidePath], other: State) -> Iterator[OutsidePath]:
    """Yields the parts of paths that another state lacks. Pods that no policy isolates have all paths."""
    known, isolated = grouped(outside_paths(other), lambda path: path.namespace), unisolated(other)
    for path in paths:
        if path.namespace not in isolated[path.direction]:
            yield from remainder(path, known.get(path.namespace, ()))


def _unusual(paths: Iterable[OutsidePath], before: State) -> Iterator[OutsidePath]:
    known, isolated = grouped(outside_paths(before), lambda path: path.namespace), unisolated(before)
    for path in paths:
        names = [name for name in known if name not in isolated[path.direction]]
        if not names or any(True for name in names for _ in remainder(path, known[name])):
            yield path


def _grouped(paths: Iterable[OutsidePath], verb: str) -> Iterator[Raised]:
    """Yields an impact for the paths with the same namespaces, ports and reason.

    For example "pods of namespace a can connect to 10.0.0.0/24 on TCP 443 (why: models)".
    """
    places = by_first(
        (((path.tenant, path.direction, path.ports, path.pods, path.why), peer), path)
        for path in paths
        for peer in path.peers
    )
    groups = by_first(
        ((common, tuple(sorted({path.namespace for path in found}))), (peer, found[0]))
        for (common, peer), found in places.items()
    )
    for (_, namespaces), rows in groups.items():
        _, first = rows[0]
        pods = f"pods {first.pods}" if first.pods else "pods"
        action = "connect to" if first.direction == EGRESS else "get connections from"
        why = f" ({first.why})" if first.why else ""
        peers = f"{first_names([peer for peer, _ in rows], _PEERS)} on {described(first.ports)}{why}"
        message = f"{pods} of {kind_of(namespaces, 'namespace')} {verb} {action} {peers}"
        yield Raised(f"tenant {first.tenant}", message, first.manifest, first.path)

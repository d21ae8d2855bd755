"""Finds nodes for pods: the node pools that accept the pods, and instance types with enough resources for the pods."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Struct

from gpuc.cluster.flavors import ResourceFlavor
from gpuc.cluster.instance_labels import devices_of_category, instance_labels
from gpuc.cluster.pool import Pool
from gpuc.cluster.pool_fields import REQUIREMENTS, TAINTS, TEMPLATE
from gpuc.diagnostics.finding import Path
from gpuc.diagnostics.words import first_names
from gpuc.kubernetes.amounts import CPU, MEMORY, MIB, PODS, Amounts, counted, described, pods_that_fit, quantity_text
from gpuc.kubernetes.node_pool import AWS
from gpuc.kubernetes.selector import Requirement, Selector
from gpuc.kubernetes.toleration import Toleration, toleration_fix, untolerated
from gpuc.manifest.manifest import Manifest
from gpuc.model.names import EFA
from gpuc.objects.object_set import dig
from gpuc.objects.selectors import equal_labels, node_terms, tolerations
from gpuc.trace.cluster_index import ClusterIndex, Room

if TYPE_CHECKING:
    from gpuc.catalog.records import InstanceType

UNLIMITED_NODES = 10**9
"""The number of nodes that a pool without a limit can have."""


class PodDemand(Struct, frozen=True):
    """Equal pods and what they need of nodes, with the node labels and tolerations that Kueue adds from flavors."""

    count: int
    pod: Amounts
    """The requests of one pod."""
    terms: tuple[Selector, ...]
    """Node selector terms; a node has to match one term."""
    tolerations: tuple[Toleration, ...]
    per_node: int | None = None
    """The maximum number of these pods on one node, apart from resources; None without a maximum."""


class MatchingPool(NamedTuple):
    """A node pool that accepts some pods, with the instance types on which the pods may run."""

    pool: Pool
    room: Room
    types: "tuple[InstanceType, ...]"
    """The instance types that match the node selector of the pods."""
    unsure_types: tuple[str, ...] = ()
    """The names of instance types that the pool can perhaps start, and that perhaps match the node selector."""
    doubt: str = ""
    """Why nodes of the pool are not certain, for example because the input does not show their zones."""
    nodes: int | None = None
    """The number of reserved instances, if the pods need reserved instances; None without this maximum."""


class UnschedulableReason(NamedTuple):
    """The reason why no node accepts some pods, and the object that causes it."""

    message: str
    manifest: Manifest | None
    path: Path = ()
    fix: str = ""
    """A change with which a node accepts the pods; empty if the objects do not show one."""
    wanted: Requirement | None = None
    """The requirement of the pods that no node meets; None for another cause."""
    summary: str = ""
    """The cause as a sentence, for the result of the trace; empty for the usual cause of the stage."""


def pod_demand(pod: Any, count: int, requests: Amounts, flavors: Sequence[ResourceFlavor]) -> PodDemand:
    """Returns what pods need of nodes, with the node labels and tolerations that Kueue adds from their flavors.

    Args:
        pod: the spec of the pods, unvalidated.
        requests: the requests of one pod.
    """
    labels = tuple(requirement for flavor in flavors for requirement in equal_labels(flavor.labels))
    added = (toleration for flavor in flavors for toleration in flavor.tolerations)
    terms = tuple((*term, *labels) for term in node_terms(pod))
    return PodDemand(count, {**requests, PODS: 1}, terms, (*tolerations(dig(pod, "tolerations")), *added))


def matching_pools(cluster: ClusterIndex, pods: PodDemand) -> tuple[list[MatchingPool], list[UnschedulableReason]]:
    """Returns the node pools that accept the pods; if none does, the reasons why the most similar node pools do not."""
    key = pods.terms, pods.tolerations
    if key not in cluster.pool_matches:
        cluster.pool_matches[key] = _matching_pools(cluster, pods)
    result: tuple[list[MatchingPool], list[UnschedulableReason]] = cluster.pool_matches[key]
    return result


def _matching_pools(cluster: ClusterIndex, pods: PodDemand) -> tuple[list[MatchingPool], list[UnschedulableReason]]:
    """Computes the result of matching_pools without the cache."""
    matches, tainted = [], []
    for pool in dict.fromkeys(pool for term in pods.terms for pool in cluster.nodes.candidates(term)):
        possible_terms = [term for term in pods.terms if pool.mismatch(term) is None]
        if not possible_terms:
            continue
        taint = untolerated(pool.taints, pods.tolerations)
        if taint is not None:
            message = f"node pool {pool.name} has the taint {taint}, which neither the pods nor their flavors tolerate"
            fix = toleration_fix(pool.taints, pods.tolerations)
            tainted.append(UnschedulableReason(message, pool.manifest, pool.place((*TAINTS, taint.index)), fix))
            continue
        matches.append(_match(pool, cluster.rooms[pool], possible_terms))
    if matches or tainted:
        return matches, tainted[:_MAX_REASONS]
    return matches, list(islice(_label_mismatches(cluster, pods), _MAX_REASONS))


def _match(pool: Pool, room: Room, terms: Sequence[Selector]) -> MatchingPool:
    """Returns a pool with the instance types that meet one of the terms.

    Terms with a known location and terms that need no reserved instances come first.
    """
    located = [term for term in terms if not pool.unknown_location(term)]
    possible = located or terms
    free = [term for term in possible if not pool.needs_reservation(term)]
    types = {instance.type: instance for term in free or possible for instance in pool.types_for(term)}
    reserved = [term for term in possible if free and term not in free]
    unsure = [name for term in possible for name in pool.unsure_types_for(term)]
    unsure += [instance.type for term in reserved for instance in pool.types_for(term)]
    doubt, nodes = "", None
    if not free:
        doubts = [pool.unknown_reservation(term) for term in possible]
        doubt, nodes = doubts[0] if all(doubts) else "", pool.reserved_nodes
    if not located:
        location = pool.unknown_location(terms[0])
        doubt = f"the input does not show whether node pool {pool.name} has nodes with {location}"
    if MEMORY in pool.limits and types and all(row.memory_mib * MIB > pool.limits[MEMORY] for row in types.values()):
        doubt = doubt or "Karpenter counts the memory of new nodes, then of running nodes, which can exceed the limit"
    others = tuple(name for name in dict.fromkeys(unsure) if name not in types)
    return MatchingPool(pool, room, tuple(types.values()), others, doubt, nodes)


def _label_mismatches(cluster: ClusterIndex, pods: PodDemand) -> Iterator[UnschedulableReason]:
    """Yields the unmet requirements of the pools that are closest to the node selector of the pods.

    A pool that has a label with a different value is less close than a pool without the label.
    """
    terms = [dict.fromkeys(term) for term in pods.terms]
    unmet: dict[Pool, list[Requirement]] = {}
    for pool in cluster.nodes.pools:
        alone = ([row for row in term if pool.mismatch((row,))] for term in terms)
        together = (filter(None, [pool.mismatch(term)]) for term in terms)  # rows that contradict each other
        unmet[pool] = min((rows or [*both] for rows, both in zip(alone, together, strict=True)), key=len, default=[])
    distances = {
        pool: (sum(requirement.key in pool.labels for requirement in requirements), len(requirements))
        for pool, requirements in unmet.items()
    }
    for pool, requirements in unmet.items():
        if distances[pool] == min(distances.values()):
            several_values = (f"the same {row.key} for all requirements" for row in requirements if row.domain.is_empty)
            labels = next(several_values, " and ".join(map(str, requirements)))
            fix = "; ".join(_change(wanted, pool.possible_values(wanted.key)) for wanted in requirements)
            message = f"node pool {pool.name} has no node with {labels}"
            manifest, path = pool.holder(requirements[0])
            yield UnschedulableReason(message, manifest, path, fix, requirements[0])


def _change(wanted: Requirement, known: Iterable[str]) -> str:
    """Returns a fix for a requirement of the pods that no node meets, with the known values of the label."""
    values = several([value for value in sorted(known) if not wanted.domain.allows(value)], " or ")
    return f"in the node selector, set {wanted.key} to {values}" if values else f"do not select nodes by {wanted.key}"


_MAX_REASONS = 4
"""The number of node pools that a message names."""
_MAX_TYPES = 8
"""The number of instance types that a message names."""


def pods_per_node(match: MatchingPool, pods: PodDemand) -> dict[str, int]:
    """Returns how many of the pods fit on an empty node, by instance type. Types on which no pod fits are left out."""
    counts = {instance.type: pods_that_fit(match.room.of(instance), pods.pod) for instance in match.types}
    if pods.per_node is not None:
        counts = {name: min(count, pods.per_node) for name, count in counts.items()}
    return {name: count for name, count in counts.items() if count}


def types_with_room(match: MatchingPool, pods: PodDemand) -> list[str]:
    """Returns the instance types that the pool perhaps can start, and on which a pod perhaps fits."""
    return [name for name in match.unsure_types if _may_fit(match.pool, name, pods.pod)]


def _may_fit(pool: Pool, name: str, pod: Amounts) -> bool:
    """Returns whether a pod may fit on a node, if the node has all resources of its instance type for the pod."""
    if pool.hardware(name):
        most = pool.capacity(name)
        checked = (resource for resource in pod if resource in most or _is_device(resource))
        return all(pod[resource] <= most.get(resource, 0) for resource in checked)
    category = instance_labels(pool.catalog, name).get(f"{AWS}instance-category")
    if category is None or not any(count for resource, count in pod.items() if _is_device(resource)):
        return True
    known = devices_of_category(pool.catalog, category)
    return all(resource in known for resource, count in pod.items() if count and _is_device(resource))


def _is_device(resource: str) -> bool:
    return "/" in resource


def max_pods(match: MatchingPool, pods: PodDemand, nodes: int | None = None) -> int:
    """Returns the maximum number of pods that fit on the nodes of a pool.

    Args:
        nodes: the maximum number of nodes; None if only the limits of the pool apply.
    """
    per_node, most = pods_per_node(match, pods), [0]
    for instance in match.types:
        if instance.type in per_node:
            bounds = match.pool.max_nodes(instance), match.nodes, nodes
            limits = [limit for limit in bounds if limit is not None]
            most.append(per_node[instance.type] * min(limits, default=UNLIMITED_NODES))
    return max(most)


def insufficient_resources(found: Sequence[MatchingPool], pods: PodDemand) -> UnschedulableReason:
    """Returns the reason why no node is large enough: the resources of which a pod requests more than any node has."""
    match = next((match for match in found if match.types), found[0])
    pool, names = match.pool, ", ".join(match.pool.name for match in found)
    unsure = {name for match in found for name in match.unsure_types}
    if not match.types and not unsure:
        return _no_type(pool, pods)
    if full := _full_of_pods(found, pods):
        return full
    rooms = [match.room.of(instance) for match in found for instance in match.types]
    unsure_types = ((match.pool, name) for match in found for name in match.unsure_types)
    unsure_rooms = [other.capacity(name) for other, name in unsure_types if other.hardware(name)]
    largest = [
        (name, count, max(0, *(room.get(name, 0) for room in (*rooms, *unsure_rooms, {}))))
        for name, count in pods.pod.items()
        if count and (rooms or _is_device(name) or name in (CPU, MEMORY))
    ]
    empty = [match.pool.allocatable(instance) for match in found for instance in match.types]
    none = [name for name, _, most in largest if most == 0 and name not in (CPU, MEMORY, PODS)]
    none = [name for name in none if not any(node.get(name) for node in empty)]
    missing = [name for name in none if _is_device(name)]
    if missing:
        message = f"no {pool.type_in_messages} that node pool {names} allows has {' or '.join(missing)}"
        field = pool.class_field("spec", "networkInterfaces") if EFA in missing else None
        message += f": networkInterfaces of {field[0]} has none" if field else ""
        return UnschedulableReason(message, *(field or (pool.manifest, TEMPLATE)), _remove(missing))
    exceeded = [
        f"the pod requests {counted(name, count)}, and a node has {quantity_text(name, most)} for pods"
        for name, count, most in largest
        if count > most
    ]
    types = several([*(instance.type for match in found for instance in match.types), *sorted(unsure)])
    reason = "; ".join(exceeded) or f"the pod requests {described(pods.pod)} together"
    limits = [counted(name, most) for name, count, most in largest if count > most > 0]
    fix = f"request at most {', '.join(limits)} in one pod" if limits else "request less in one pod"
    fix = _remove(none) if none else fix
    too_much = [name for name, count, most in largest if count > most]
    volumes = pool.class_field("spec") if "ephemeral-storage" in too_much else None
    if volumes and not pool.class_field("spec", "instanceStorePolicy"):
        fix += f", or raise volumeSize in blockDeviceMappings of {volumes[0]}"
    if agent := _largest_agent(found, pods, too_much):
        reason, change = f"{reason}; without {agent}, the pod fits", f"reduce the requests of {agent}"
        fix = f"{fix}, or {change}" if limits or "ephemeral-storage" in too_much else change
    message = f"no {pool.type_in_messages} of node pool {names} ({types}) has enough resources for one pod: {reason}"
    return UnschedulableReason(message, pool.manifest, (), fix)


def _full_of_pods(found: Sequence[MatchingPool], pods: PodDemand) -> UnschedulableReason | None:
    """Returns the reason if DaemonSets use all pods that the kubelets of the nodes allow; None otherwise."""
    rooms = [(match, instance, match.room.of(instance)) for match in found for instance in match.types]
    if not rooms or any(room.get(PODS, 1) > 0 for _, _, room in rooms):
        return None
    match, instance, room = rooms[0]
    most = match.pool.allocatable(instance)[PODS]
    field = match.pool.class_field("spec", "kubelet", "maxPods")
    limit = f"maxPods of {field[0]}" if field else f"the kubelet of {instance.type}"
    message = f"{limit} allows {most} pods on a node, and {most - room[PODS]} pods of DaemonSets run on every node"
    larger = "raise maxPods" if field else f"allow {match.pool.type_in_messages}s with more pods"
    fix = f"{larger}, or run fewer DaemonSets on the nodes"
    manifest, path = field or (match.pool.manifest, match.pool.place(REQUIREMENTS))
    summary = "The nodes of the node pools have no room for a further pod (maxPods)."
    return UnschedulableReason(message, manifest, path, fix, summary=summary)


def _largest_agent(found: Sequence[MatchingPool], pods: PodDemand, names: Sequence[str]) -> str:
    """Returns the DaemonSet with the largest requests, if a pod fits without DaemonSets; otherwise an empty string.

    Args:
        names: the resources of which the nodes have too little.
    """
    for match in found:
        room = match.room
        agents = [(room.requests_of(agent).get(name, 0), agent) for name in names for agent in room.daemonset_pods]
        for instance in match.types if agents else ():
            all_of_it = match.pool.allocatable(instance)
            if all(count <= all_of_it.get(name, 0) for name, count in pods.pod.items()):
                requested, largest = max(agents, key=lambda agent: agent[0])
                return str(largest.manifest) if requested else ""
    return ""


def _no_type(pool: Pool, pods: PodDemand) -> UnschedulableReason:
    """Returns the first requirement of the pods that no instance type of a pool meets."""
    if not pool.type_names:
        message = f"the requirements of node pool {pool.name} exclude all {pool.type_in_messages}s"
        return UnschedulableReason(message, pool.manifest, pool.place(REQUIREMENTS))
    wanted = next((wanted for term in pods.terms for wanted in term if not pool.types_for((wanted,))), None)
    message = f"node pool {pool.name} has no {pool.type_in_messages} that matches the node selector of the pods"
    message += f": {wanted}" if wanted else ""
    summary = f"No {pool.type_in_messages} of the node pools matches the node selector of the pods."
    fix = _change(wanted, pool.values(wanted.key, (row.type for row in pool.types))) if wanted else ""
    return UnschedulableReason(message, pool.manifest, pool.place(REQUIREMENTS), fix, wanted, summary)


def _remove(names: Sequence[str]) -> str:
    return f"remove the request of {' and '.join(names)} from the pods, or use nodes that have it"


def several(names: Sequence[str], separator: str = ", ") -> str:
    """Returns a list of names for a message: all names, or the first names and the number of other names."""
    return first_names(list(dict.fromkeys(names)), _MAX_TYPES, separator)

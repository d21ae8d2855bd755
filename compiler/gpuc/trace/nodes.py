"""Nodes for admitted pods: node pools that accept the pods, and instance types with enough resources for the pods."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from gpuc.diagnostics.finding import Path
from gpuc.kubernetes.amounts import PODS, Amounts, counted, described, pods_that_fit, quantity_text
from gpuc.kubernetes.selector import Requirement, Selector
from gpuc.kubernetes.toleration import Toleration, untolerated
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import dig
from gpuc.objects.selectors import equal_labels, node_terms, tolerations
from gpuc.trace.cluster_index import ClusterIndex
from gpuc.trace.pools import NodePool

if TYPE_CHECKING:
    from gpuc.catalog.records import InstanceType

UNLIMITED_NODES = 10**9
"""The number of nodes that a pool without a limit can have."""


@dataclass(frozen=True)
class PodDemand:
    """Equal pods with their requirements on nodes, including the node labels and tolerations of their flavors."""

    count: int
    pod: Amounts
    """The requests of one pod."""
    terms: tuple[Selector, ...]
    """Node selector terms; a node has to match one term."""
    tolerations: tuple[Toleration, ...]


class MatchingPool(NamedTuple):
    """A node pool that accepts some pods."""

    pool: NodePool
    types: tuple[InstanceType, ...]
    """The instance types that match the node selector of the pods."""


class UnschedulableReason(NamedTuple):
    """The reason why no node accepts the pods, and the object that causes it."""

    message: str
    manifest: Manifest | None
    path: Path = ()
    fix: str = ""
    """A change with which a node accepts the pods; empty if the objects do not show one."""


def pod_demand(pod: Any, count: int, requests: Amounts, flavors: Sequence[Manifest]) -> PodDemand:
    """Returns the requirements of admitted pods, to which Kueue adds the node labels and tolerations of the flavors.

    Args:
        pod: the spec of the pods, unvalidated.
        requests: the requests of one pod.
    """
    specs = [dig(flavor.body, "spec") for flavor in flavors]
    labels = tuple(requirement for spec in specs for requirement in equal_labels(dig(spec, "nodeLabels")))
    by_spec = (tolerations(dig(spec, "tolerations")) for spec in (pod, *specs))
    terms = tuple((*term, *labels) for term in node_terms(pod))
    combined = tuple(toleration for several in by_spec for toleration in several)
    return PodDemand(count, {**requests, PODS: 1}, terms, combined)


def matching_pools(cluster: ClusterIndex, pods: PodDemand) -> tuple[list[MatchingPool], list[UnschedulableReason]]:
    """Returns the node pools that accept the pods; if no pool does, the reasons of the pools that are closest."""
    key = pods.terms, pods.tolerations
    if key not in cluster.pool_matches:
        cluster.pool_matches[key] = _matching_pools(cluster, pods)
    result: tuple[list[MatchingPool], list[UnschedulableReason]] = cluster.pool_matches[key]
    return result


def _matching_pools(cluster: ClusterIndex, pods: PodDemand) -> tuple[list[MatchingPool], list[UnschedulableReason]]:
    """Computes the result of matching_pools without the cache."""
    matches, tainted = [], []
    for pool in dict.fromkeys(pool for term in pods.terms for pool in cluster.pool_index.candidates(term)):
        possible_terms = [term for term in pods.terms if pool.mismatch(term) is None]
        if not possible_terms:
            continue
        taint = untolerated(pool.taints, pods.tolerations)
        if taint is not None:
            message = f"node pool {pool.name} has the taint {taint}, which neither the pods nor their flavors tolerate"
            tainted.append(UnschedulableReason(message, pool.manifest, (*_TEMPLATE, "spec", "taints", taint.index)))
            continue
        types = {instance.type: instance for term in possible_terms for instance in pool.types_for(term)}
        matches.append(MatchingPool(pool, tuple(types.values())))
    if matches or tainted:
        return matches, tainted[:_MAX_REASONS]
    return matches, list(islice(_label_mismatches(cluster, pods), _MAX_REASONS))


def _label_mismatches(cluster: ClusterIndex, pods: PodDemand) -> Iterator[UnschedulableReason]:
    """Yields the unmet requirements of the pools that are closest to the node selector of the pods.

    A pool that has a label with a different value is less close than a pool without the label.
    """
    unmet = {pool: _unmet_requirements(pool, pods) for pool in cluster.pools}
    distances = {
        pool: (sum(requirement.key in pool.labels for requirement in requirements), len(requirements))
        for pool, requirements in unmet.items()
    }
    for pool, requirements in unmet.items():
        if distances[pool] == min(distances.values()):
            labels = " and ".join(map(str, requirements))
            fix = "; ".join(
                f"in the node selector, set {requirement.key} to {' or '.join(values)}"
                for requirement in requirements
                if (values := sorted(pool.listed(requirement.key)))
            )
            message = f"node pool {pool.name} has no node with {labels}"
            yield UnschedulableReason(message, pool.manifest, _LABELS, fix)


def _unmet_requirements(pool: NodePool, pods: PodDemand) -> list[Requirement]:
    """Returns the requirements that no node of a pool meets, of the term with the fewest such requirements."""
    by_term = [
        [requirement for requirement in dict.fromkeys(term) if pool.mismatch((requirement,))] for term in pods.terms
    ]
    return min(by_term, key=len, default=[])


_MAX_REASONS = 4
"""The number of node pools that a message names."""
_TEMPLATE: Path = ("spec", "template")
_LABELS: Path = (*_TEMPLATE, "metadata", "labels")


def pods_per_node(match: MatchingPool, pods: PodDemand) -> dict[str, int]:
    """Returns the number of pods that fit on an empty node, by instance type; only types on which a pod fits."""
    counts = {instance.type: pods_that_fit(match.pool.room(instance), pods.pod) for instance in match.types}
    return {name: count for name, count in counts.items() if count}


def max_pods(match: MatchingPool, pods: PodDemand, nodes: int | None = None) -> int:
    """Returns the maximum number of pods that fit on the nodes of a pool.

    Args:
        nodes: the maximum number of nodes; None if only the limits of the pool apply.
    """
    per_node = pods_per_node(match, pods)
    most = 0
    for instance in match.types:
        if instance.type in per_node:
            limits = [limit for limit in (match.pool.max_nodes(instance), nodes) if limit is not None]
            most = max(most, per_node[instance.type] * min(limits, default=UNLIMITED_NODES))
    return most


def insufficient_resources(match: MatchingPool, pods: PodDemand) -> UnschedulableReason:
    """Returns the resources of which a pod requests more than the largest instance type of the pool has."""
    pool = match.pool
    if not match.types:
        message = f"node pool {pool.name} has no instance type that matches the node selector of the pods"
        return UnschedulableReason(message, pool.manifest, _TEMPLATE)
    largest = [
        (name, count, max(0, *(pool.room(instance).get(name, 0) for instance in match.types)))
        for name, count in pods.pod.items()
        if count
    ]
    exceeded = [
        f"the pod requests {counted(name, count)}, and a node has {quantity_text(name, most)} for pods"
        for name, count, most in largest
        if count > most
    ]
    types = ", ".join(instance.type for instance in match.types)
    reason = "; ".join(exceeded) or f"the pod requests {described(pods.pod)} together"
    limits = [counted(name, most) for name, count, most in largest if count > most]
    fix = f"request at most {', '.join(limits)} in one pod" if limits else "request less in one pod"
    message = f"no instance type of node pool {pool.name} ({types}) has enough resources for one pod: {reason}"
    return UnschedulableReason(message, pool.manifest, (), fix)

"""Nodes for admitted pods: node pools that accept the pods, and instance types that can hold them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from gpuc.diagnostics.finding import Path
from gpuc.kubernetes.amounts import PODS, Amounts, described, pods_that_fit, quantity_text
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
    """Equal pods and what they require of nodes, including what their flavors add."""

    count: int
    pod: Amounts
    """The requests of one pod."""
    terms: tuple[Selector, ...]
    """Node selector terms; a node has to match one of them."""
    tolerations: tuple[Toleration, ...]


class MatchingPool(NamedTuple):
    """A node pool that accepts some pods."""

    pool: NodePool
    types: tuple[InstanceType, ...]
    """The instance types that match the node selector of the pods."""


class UnschedulableReason(NamedTuple):
    """Why no node can take the pods, and the object that causes it."""

    message: str
    manifest: Manifest | None
    path: Path = ()
    fix: str = ""
    """What to change, if the objects show it."""


def pod_demand(pod: Any, count: int, requests: Amounts, flavors: Sequence[Manifest]) -> PodDemand:
    """The demand of admitted pods: Kueue adds the node labels and tolerations of the flavors."""
    specs = [dig(flavor.body, "spec") for flavor in flavors]
    labels = tuple(requirement for spec in specs for requirement in equal_labels(dig(spec, "nodeLabels")))
    taken = (tolerations(dig(spec, "tolerations")) for spec in (pod, *specs))
    terms = tuple((*term, *labels) for term in node_terms(pod))
    return PodDemand(count, {**requests, PODS: 1}, terms, tuple(toleration for part in taken for toleration in part))


def matching_pools(cluster: ClusterIndex, pods: PodDemand) -> tuple[list[MatchingPool], list[UnschedulableReason]]:
    """The pools that accept the pods; if there are none, the reasons of the pools that come closest."""
    key = pods.terms, pods.tolerations
    if key not in cluster.pool_matches:
        cluster.pool_matches[key] = _matching_pools(cluster, pods)
    found: tuple[list[MatchingPool], list[UnschedulableReason]] = cluster.pool_matches[key]
    return found


def _matching_pools(cluster: ClusterIndex, pods: PodDemand) -> tuple[list[MatchingPool], list[UnschedulableReason]]:
    found, tainted = [], []
    for pool in dict.fromkeys(pool for term in pods.terms for pool in cluster.pool_index.candidates(term)):
        open_terms = [term for term in pods.terms if pool.mismatch(term) is None]
        if not open_terms:
            continue
        taint = untolerated(pool.taints, pods.tolerations)
        if taint is not None:
            message = f"node pool {pool.name} has the taint {taint}, and neither the pods nor their flavors tolerate it"
            tainted.append(UnschedulableReason(message, pool.manifest, (*_TEMPLATE, "spec", "taints", taint.index)))
            continue
        types = {instance.type: instance for term in open_terms for instance in pool.types_for(term)}
        found.append(MatchingPool(pool, tuple(types.values())))
    if found or tainted:
        return found, tainted[:_MAX_REASONS]
    return found, list(islice(_label_mismatches(cluster, pods), _MAX_REASONS))


def _label_mismatches(cluster: ClusterIndex, pods: PodDemand) -> Iterator[UnschedulableReason]:
    """The missing labels of the pools that come closest to the node selector of the pods.

    A pool that has a label with another value is farther away than one without the label.
    """
    unmet = {pool: _unmet_requirements(pool, pods) for pool in cluster.pools}
    distances = {
        pool: (sum(requirement.key in pool.labels for requirement in missing), len(missing))
        for pool, missing in unmet.items()
    }
    for pool, missing in unmet.items():
        if distances[pool] == min(distances.values()):
            labels = " and ".join(map(str, missing))
            fix = "; ".join(
                f"{requirement.key} can be {', '.join(values)}"
                for requirement in missing
                if (values := sorted(pool.listed(requirement.key)))
            )
            message = f"node pool {pool.name} has no node with {labels}"
            yield UnschedulableReason(message, pool.manifest, _LABELS, fix)


def _unmet_requirements(pool: NodePool, pods: PodDemand) -> list[Requirement]:
    """The requirements that no node of a pool meets, in the term with the fewest of them."""
    by_term = [
        [requirement for requirement in dict.fromkeys(term) if pool.mismatch((requirement,))] for term in pods.terms
    ]
    return min(by_term, key=len, default=[])


_MAX_REASONS = 4
"""The number of node pools that a message names."""
_TEMPLATE: Path = ("spec", "template")
_LABELS: Path = (*_TEMPLATE, "metadata", "labels")


def pods_per_node(match: MatchingPool, pods: PodDemand) -> dict[str, int]:
    """The number of pods that an empty node holds, by instance type; types that hold none are left out."""
    found = {instance.type: pods_that_fit(match.pool.room(instance), pods.pod) for instance in match.types}
    return {name: count for name, count in found.items() if count}


def max_pods(match: MatchingPool, pods: PodDemand, nodes: int | None = None) -> int:
    """The number of pods that a pool can hold at most; with `nodes`, on at most that many nodes."""
    per_node = pods_per_node(match, pods)
    most = 0
    for instance in match.types:
        if instance.type in per_node:
            limits = [limit for limit in (match.pool.max_nodes(instance), nodes) if limit is not None]
            most = max(most, per_node[instance.type] * min(limits, default=UNLIMITED_NODES))
    return most


def insufficient_resources(match: MatchingPool, pods: PodDemand) -> UnschedulableReason:
    """Why no instance type of a pool holds one pod: the resources of which even the largest type has too little."""
    pool = match.pool
    if not match.types:
        message = f"node pool {pool.name} has no instance type that matches the node selector of the pods"
        return UnschedulableReason(message, pool.manifest, _TEMPLATE)
    largest = [
        (name, count, max(0, *(pool.room(instance).get(name, 0) for instance in match.types)))
        for name, count in pods.pod.items()
        if count
    ]
    lacking = [
        f"{quantity_text(name, count)} {name} requested, a node has {quantity_text(name, most)} for pods"
        for name, count, most in largest
        if count > most
    ]
    types = ", ".join(instance.type for instance in match.types)
    reason = "; ".join(lacking) or f"{described(pods.pod)} together"
    limits = [f"{quantity_text(name, most)} {name}" for name, count, most in largest if count > most]
    fix = f"request at most {', '.join(limits)} in one pod" if limits else "request less in one pod"
    message = f"no instance type of node pool {pool.name} ({types}) can hold one pod: {reason}"
    return UnschedulableReason(message, pool.manifest, (), fix)

"""Domains: the values of a node label, for example zones. Rules between pods spread pods over several domains.

Source: sigs.k8s.io/karpenter v1.14.1 pkg/controllers/provisioning/scheduling: topology.go (buildDomainGroups),
topologygroup.go (domainMinCount, nextDomainTopologySpread); provisioning/provisioner.go (NewScheduler);
k8s.io/kubernetes v1.35.4 pkg/scheduler/framework/plugins/podtopologyspread/filtering.go
"""

from collections.abc import Sequence
from typing import NamedTuple

from gpuc.cluster.pool import Pool
from gpuc.kubernetes.node_pool import AWS_LABELS, CAPACITY_TYPE, WELL_KNOWN, ZONE, normal
from gpuc.kubernetes.toleration import untolerated
from gpuc.trace.cluster_index import ClusterIndex
from gpuc.trace.nodes import MatchingPool, PodDemand, max_pods, pods_per_node

_UNLISTED = "the values of "


class Domains(NamedTuple):
    """The domains of a node label: its values on nodes that the pods can use, and its values on other nodes."""

    usable: dict[str, list[MatchingPool]]
    """The node pools with nodes for the pods, by value. A pool that lists no values has one value for all its nodes."""
    others: list[str]
    """The values of other nodes, which Karpenter counts as empty, although the pods get no such nodes."""

    @property
    def number(self) -> int | None:
        """The number of domains that the pods can use; None if a node pool does not list the values of the label."""
        return None if any(value.startswith(_UNLISTED) for value in self.usable) else len(self.usable)

    @property
    def are_all_known(self) -> bool:
        """Whether the node pools list all values of the label."""
        return self.number is not None and not any(value.startswith(_UNLISTED) for value in self.others)

    @property
    def may_be_uneven(self) -> bool:
        """Whether the nodes exist already, in several domains, so that their number in each domain is unknown."""
        return len(self.usable) > 1 and any(match.pool.is_static for row in self.usable.values() for match in row)


def domains(
    cluster: ClusterIndex, demand: PodDemand, found: Sequence[MatchingPool], key: str, *, honors_taints: bool = False
) -> Domains | None:
    """Returns the domains of a node label; None if the input does not show its values.

    Karpenter counts the values of all node pools, except values that the pods exclude. So a domain without nodes for
    the pods stays empty, and an empty domain limits how many pods may be in the other domains.

    Args:
        found: the node pools that accept the pods.
        honors_taints: whether node pools count only if the pods tolerate their taints (nodeTaintsPolicy: Honor).
    """
    if (key in WELL_KNOWN and key not in (ZONE, CAPACITY_TYPE)) or key in AWS_LABELS:
        return None
    usable: dict[str, list[MatchingPool]] = {}
    for match in found:
        values = _values(match.pool, key, demand)
        if not values:
            return None
        for value in values:
            usable.setdefault(value, []).append(match)
    counted = (
        pool
        for pool in cluster.nodes.pools
        if not (honors_taints and untolerated(pool.taints, demand.tolerations))
        and not (pool.is_static and all(pool.mismatch(term) for term in demand.terms))
    )
    others = {value for pool in counted for value in _values(pool, key, demand)} - usable.keys()
    return Domains(usable, sorted(others))


def _values(pool: Pool, key: str, demand: PodDemand) -> list[str]:
    """Returns the values that the nodes of a pool can have for a label, without those that the pods do not select."""
    wanted = [[row.domain for row in term if normal(row.key) == key] for term in demand.terms]
    listed = pool.listed(key)
    if not listed and key in (ZONE, CAPACITY_TYPE):
        chosen = [domain.listed for term in wanted for domain in term[:1] if domain.listed]
        of_class = " ".join(pool.node_class[1:]) if pool.node_class else "a node class"
        listed = frozenset().union(*chosen) if chosen else frozenset((f"{_UNLISTED}{of_class}",))
    allowed = {value for value in listed if any(all(domain.allows(value) for domain in term) for term in wanted)}
    return sorted(value for value in listed if value in allowed or value.startswith(_UNLISTED))


def fits_evenly(known: Domains, demand: PodDemand) -> bool:
    """Returns whether the limits of the node pools certainly allow the same number of pods in each domain."""
    number = len(known.usable)
    matches = {match.pool: match for row in known.usable.values() for match in row}
    parts = [demand.count // number + (index < demand.count % number) for index in range(number)]
    for pool, match in matches.items():
        in_all = all(any(other.pool is pool for other in row) for row in known.usable.values())
        for instance in match.types if in_all else ():
            fit, most = pods_per_node(match, demand).get(instance.type), pool.max_nodes(instance)
            if fit and match.nodes is None and (most is None or sum(-(-part // fit) for part in parts) <= most):
                return True
    rooms = [sum(max_pods(match, demand) for match in row) for row in known.usable.values()]
    if all(len(row) == 1 for row in known.usable.values()) and len(matches) == number:
        return all(room >= part for room, part in zip(sorted(rooms, reverse=True), parts, strict=True))
    lost = max(most_per_node(list(matches.values()), demand) - 1, 0)
    total = sum(max_pods(match, demand) for match in matches.values())
    return min(rooms) >= parts[0] + lost and total >= demand.count + number * lost


def most_per_node(found: Sequence[MatchingPool], demand: PodDemand) -> int:
    """Returns the largest number of pods that fit on one node of the given node pools."""
    return max((count for match in found for count in pods_per_node(match, demand).values()), default=0)

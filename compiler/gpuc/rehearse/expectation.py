"""Expected outcomes, computed from the model: Kueue's flavor, Karpenter's nodes, or the refusing component."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from gpuc.catalog.records import InstanceType
from gpuc.kubernetes import flavor
from gpuc.kubernetes.amounts import Amounts, pods_that_fit, texts
from gpuc.kubernetes.kueue import LEVEL_LABELS
from gpuc.model import Cluster, ClusterQueue, Pool
from gpuc.rehearse.outcome import Outcome, Request
from gpuc.rehearse.quota import Quota
from gpuc.rehearse.topology_labels import BLOCK_NODES

RESERVE_PODS = 1
"""Number of pods that run on every simulated node before tenants' pods."""


def expect(cluster: Cluster, queue: ClusterQueue, request: Request, quota: Quota | None = None) -> Outcome:
    """The outcome of a request: admitted with flavor and nodes, refused by Kueue, or admitted and pending forever.

    quota: the quota with its current usage; by default nothing is used. Preemption is not considered.
    """
    decided = admission(cluster, queue, request, quota or Quota(cluster))
    if decided.verdict != "admitted":
        return decided
    return nodes(next(pool for pool in queue.pools if pool.name == decided.flavor), request, decided)


def admission(cluster: Cluster, queue: ClusterQueue, request: Request, quota: Quota) -> Outcome:
    """Kueue's decision: the first flavor that fits without borrowing, else the flavor that borrows from the nearest
    cohort."""
    pools = {pool.name: pool for pool in queue.pools}
    kueue = flavor.Queue(
        node=quota.node(queue),
        groups=[flavor.Group(frozenset(queue.covered_resources), tuple(pools))],
        is_all_topology=all(pool.spec.topology for pool in queue.pools),
        stops_at_borrowing=False,
        usage=quota.usage,
    )
    level = LEVEL_LABELS["block"] if request.one_block else None
    choice = flavor.choose(kueue, request.total, level, lambda name: _flavor(pools[name], request), {})
    if not choice.flavors:
        return Outcome("refused", by="Kueue", message=_refusal(choice.attempts))
    pool = pools[choice.names[0]]
    if pool.spec.topology and (obstacle := _topology_obstacle(pool, request)):
        return Outcome("refused", by="Kueue", message=obstacle)
    return Outcome("admitted", flavor=pool.name, borrowed=tuple(texts(choice.borrowed).items()))


def _flavor(pool: Pool, request: Request) -> flavor.Flavor:
    """The flavor of a pool; its tolerations tolerate the taints of the pool."""
    return flavor.Flavor(
        pool.name,
        has_topology=bool(pool.spec.topology),
        levels=tuple(LEVEL_LABELS[level] for level in pool.topology_levels),
        matches_selector=request.pool in ("", pool.name),
    )


def _refusal(attempts: Sequence[flavor.Attempt]) -> str:
    """A part of Kueue's message that does not depend on the order of flavors and resources."""
    uncovered = [sample for sample in attempts if sample.refused_by == "resource"]
    if uncovered:
        # Kueue names a random uncovered resource. A flavor that refuses other resources may appear instead.
        fits = any(sample.refused_by is None for sample in attempts)
        return (uncovered[0].reasons[0] if len(uncovered) == 1 else "unavailable in ClusterQueue") if fits else ""
    matching = [sample for sample in attempts if sample.refused_by != "labels"]
    return (matching[-1] if matching else attempts[0]).reasons[0]


def _topology_obstacle(pool: Pool, request: Request) -> str:
    """Kueue's message if the empty nodes of a pool have no room for all pods; empty if they have room."""
    nodes = min(BLOCK_NODES, pool.nodes_max) if request.one_block else pool.nodes_max
    room = nodes * max(pods_per_node(pool, instance, request.asked) for instance in pool.instances)
    return "" if request.pods <= room else flavor.topology_refusal(pool.topology_name, room, request.pods)


def nodes(pool: Pool, request: Request, decided: Outcome) -> Outcome:
    """The outcome of admitted pods: possible instance types and number of nodes, or pending forever."""
    fitting = [instance for instance in pool.instances if pods_per_node(pool, instance, request.asked)]
    capacities = {pods_per_node(pool, instance, request.asked) for instance in fitting}
    if not fitting or -(-request.pods // max(capacities)) > pool.nodes_max:
        return replace(decided, verdict="pending", by="scheduler" if pool.is_static else "Karpenter", pool="")
    counts = {-(-request.pods // capacity) for capacity in capacities}
    return replace(
        decided,
        pool=pool.name,
        instance_types=tuple(instance.type for instance in fitting),
        # If the types have room for different numbers of pods, the prices decide about the number of nodes.
        nodes=counts.pop() if len(counts) == 1 else None,
    )


def pods_per_node(pool: Pool, instance: InstanceType, pod: Amounts) -> int:
    """Number of equal pods that fit an empty node of an instance type."""
    return min(instance.pods - RESERVE_PODS, pods_that_fit(pool.tenant_allocatable(instance), pod))


def cluster_queues(cluster: Cluster) -> Iterable[ClusterQueue]:
    """All ClusterQueues, in the order of the spec."""
    return (cluster_queue for queue in cluster.queues for cluster_queue in queue.cluster_queues)

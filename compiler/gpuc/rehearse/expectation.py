"""What the control plane will make of work, from the model alone: Kueue's flavor, Karpenter's nodes, or who refuses."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from gpuc.catalog.records import InstanceType
from gpuc.kubernetes import flavor
from gpuc.kubernetes.amounts import Amounts, places, texts
from gpuc.kubernetes.kueue import LEVEL_LABELS
from gpuc.model import Cluster, ClusterQueue, Pool
from gpuc.rehearse.fabric import BLOCK_NODES
from gpuc.rehearse.outcome import Outcome, Request
from gpuc.rehearse.quota import Quota

RESERVE_PODS = 1
"""Pods that every simulated node has before those of tenants."""


def expect(cluster: Cluster, queue: ClusterQueue, request: Request, quota: Quota | None = None) -> Outcome:
    """Admitted with flavor and nodes, refused by Kueue with its words, or admitted and then pending for ever.

    quota says what others hold. Nobody is taken to give way: preemption is a different question.
    """
    decided = admission(cluster, queue, request, quota or Quota(cluster))
    if decided.verdict != "admitted":
        return decided
    return nodes(next(pool for pool in queue.pools if pool.name == decided.flavor), request, decided)


def admission(cluster: Cluster, queue: ClusterQueue, request: Request, quota: Quota) -> Outcome:
    """Kueue's answer: the first flavor that fits without borrowing, else the one that borrows nearest."""
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
        return Outcome("refused", by="Kueue", words=_refusal(choice.attempts))
    pool = pools[choice.names[0]]
    if pool.spec.topology and (obstacle := _topology_obstacle(pool, request)):
        return Outcome("refused", by="Kueue", words=obstacle)
    return Outcome("admitted", flavor=pool.name, borrowed=tuple(texts(choice.borrowed).items()))


def _flavor(pool: Pool, request: Request) -> flavor.Flavor:
    """The pool's flavor, whose own tolerations take its taints."""
    return flavor.Flavor(
        pool.name,
        has_topology=bool(pool.spec.topology),
        levels=tuple(LEVEL_LABELS[level] for level in pool.topology_levels),
        matches_selector=request.pool in ("", pool.name),
    )


def _refusal(attempts: Sequence[flavor.Attempt]) -> str:
    """A part of Kueue's words that is there in every order in which it may put them."""
    uncovered = [attempt for attempt in attempts if attempt.refused_by == "resource"]
    if uncovered:
        # Of several, Kueue names one by chance; a flavor that refuses the rest is named beside or instead.
        fits = any(attempt.refused_by is None for attempt in attempts)
        return (uncovered[0].reasons[0] if len(uncovered) == 1 else "unavailable in ClusterQueue") if fits else ""
    matching = [attempt for attempt in attempts if attempt.refused_by != "labels"]
    return (matching[-1] if matching else attempts[0]).reasons[0]


def _topology_obstacle(pool: Pool, request: Request) -> str:
    """Kueue's words where the empty nodes of a pool have no place for all pods; empty where they have."""
    nodes = min(BLOCK_NODES, pool.nodes_max) if request.one_block else pool.nodes_max
    room = nodes * max(pods_per_node(pool, instance, request.asked) for instance in pool.instances)
    return "" if request.pods <= room else flavor.topology_refusal(pool.topology_name, room, request.pods)


def nodes(pool: Pool, request: Request, decided: Outcome) -> Outcome:
    """Where admitted pods run: the types that can carry one, how many nodes; or that they wait for ever."""
    fitting = [instance for instance in pool.instances if pods_per_node(pool, instance, request.asked)]
    places = {pods_per_node(pool, instance, request.asked) for instance in fitting}
    if not fitting or -(-request.pods // max(places)) > pool.nodes_max:
        return replace(decided, verdict="pending", by="scheduler" if pool.is_static else "Karpenter", pool="")
    count = {-(-request.pods // each) for each in places}
    return replace(
        decided,
        pool=pool.name,
        instance_types=tuple(instance.type for instance in fitting),
        # How many depends on the types that are cheapest then, where they hold different numbers.
        nodes=count.pop() if len(count) == 1 else None,
    )


def pods_per_node(pool: Pool, instance: InstanceType, pod: Amounts) -> int:
    """How many equal pods an empty node of a type carries."""
    return min(instance.pods - RESERVE_PODS, places(pool.left(instance), pod))


def cluster_queues(cluster: Cluster) -> Iterable[ClusterQueue]:
    """All ClusterQueues, in the order of the spec."""
    return (part for queue in cluster.queues for part in queue.cluster_queues)

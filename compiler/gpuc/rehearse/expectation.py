"""Expected outcomes of requests, computed from the model: flavor and nodes, or the component that refuses."""

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
"""Number of pods on every node that do not belong to tenants."""


def expect(cluster: Cluster, queue: ClusterQueue, request: Request, quota: Quota | None = None) -> Outcome:
    """Returns the outcome of a request: admitted with flavor and nodes, refused by Kueue, or pending.

    A request is pending if Kueue admits the request, but the pods never get nodes. Preemption is not considered.

    quota: the quota of the cluster and its current usage; by default, no quota is used.
    """
    decision = admission(cluster, queue, request, quota or Quota(cluster))
    if decision.verdict != "admitted":
        return decision
    pool = next(pool for pool in queue.pools if pool.name == decision.flavor)
    return _with_nodes(decision, pool, request)


def admission(cluster: Cluster, queue: ClusterQueue, request: Request, quota: Quota) -> Outcome:
    """Returns Kueue's decision about a request: admitted with a flavor, or refused.

    Kueue chooses the first flavor that fits without borrowing, else the flavor that borrows from the nearest cohort.
    """
    pools = {pool.name: pool for pool in queue.pools}
    kueue_queue = flavor.Queue(
        node=quota.node(queue),
        groups=[flavor.Group(frozenset(queue.covered_resources), tuple(pools))],
        is_all_topology=all(pool.spec.topology for pool in queue.pools),
        stops_at_borrowing=False,
        usage=quota.usage,
    )
    level = block_label(queue, request) if request.one_block else None
    choice = flavor.choose(kueue_queue, request.total, level, lambda name: _flavor(pools[name], request), {})
    if not choice.flavors:
        return Outcome("refused", by="Kueue", message=_refusal(choice.attempts))
    pool = pools[choice.names[0]]
    if pool.spec.topology and (refusal := _topology_refusal(pool, request)):
        return Outcome("refused", by="Kueue", message=refusal)
    return Outcome("admitted", flavor=pool.name, borrowed=tuple(texts(choice.borrowed).items()))


def block_label(queue: ClusterQueue, request: Request) -> str:
    """Returns the node label of the block that a request requires: that of the selected pool, or of the first one."""
    labels = [pool.level_labels for pool in queue.pools if request.pool in ("", pool.name)]
    return next((found["block"] for found in labels if "block" in found), LEVEL_LABELS["block"])


def _flavor(pool: Pool, request: Request) -> flavor.Flavor:
    """Returns the flavor of a pool, without taints: every ResourceFlavor tolerates the taints of the pool."""
    return flavor.Flavor(
        pool.name,
        has_topology=bool(pool.spec.topology),
        levels=tuple(pool.level_labels.values()),
        matches_selector=request.pool in ("", pool.name),
    )


def _refusal(attempts: Sequence[flavor.Attempt]) -> str:
    """Returns a part of Kueue's message that does not depend on the order of flavors and resources."""
    uncovered = [attempt for attempt in attempts if attempt.refused_by == "resource"]
    if uncovered:
        # Kueue reports one uncovered resource at random, or the refusal of a flavor for another resource.
        fits = any(attempt.refused_by is None for attempt in attempts)
        return (uncovered[0].reasons[0] if len(uncovered) == 1 else "unavailable in ClusterQueue") if fits else ""
    matching = [attempt for attempt in attempts if attempt.refused_by != "labels"]
    return (matching[-1] if matching else attempts[0]).reasons[0]


def _topology_refusal(pool: Pool, request: Request) -> str:
    """Returns Kueue's message if the pods do not fit on the empty nodes of the pool; empty if the pods fit."""
    nodes = min(BLOCK_NODES, pool.nodes_max) if request.one_block else pool.nodes_max
    capacity = nodes * max(pods_per_node(pool, instance, request.pod_with_defaults) for instance in pool.instances)
    return "" if request.pods <= capacity else flavor.topology_refusal(pool.topology_name, capacity, request.pods)


def _with_nodes(decision: Outcome, pool: Pool, request: Request) -> Outcome:
    """Returns the outcome of admitted pods: the possible instance types and the number of nodes, or pending."""
    fitting = [instance for instance in pool.instances if pods_per_node(pool, instance, request.pod_with_defaults)]
    capacities = {pods_per_node(pool, instance, request.pod_with_defaults) for instance in fitting}
    # Warm nodes may have an instance type that is too small.
    most = pool.nodes_max if len(fitting) == len(pool.instances) else pool.nodes_max - pool.warm_nodes
    if not fitting or -(-request.pods // max(capacities)) > most:
        return replace(decision, verdict="pending", by="scheduler" if pool.is_static else "Karpenter", pool="")
    counts = {-(-request.pods // capacity) for capacity in capacities}
    return replace(
        decision,
        pool=pool.name,
        instance_types=tuple(instance.type for instance in fitting),
        # If a node of one type has room for more pods than a node of another type, prices decide the number of nodes.
        nodes=counts.pop() if len(counts) == 1 else None,
    )


def pods_per_node(pool: Pool, instance: InstanceType, pod: Amounts) -> int:
    """Returns the number of equal pods that fit on an empty node of an instance type."""
    return min(instance.pods - RESERVE_PODS, pods_that_fit(pool.tenant_allocatable(instance), pod))


def cluster_queues(cluster: Cluster) -> Iterable[ClusterQueue]:
    """Returns the ClusterQueues that a namespace may use, in the order of the spec."""
    used = _used_queues(cluster)
    return (part for queue in cluster.queues for part in queue.cluster_queues if part.name in used)


def unused_queues(cluster: Cluster) -> list[str]:
    """Returns the names of the ClusterQueues that no namespace may use, so that no test case can submit a Job."""
    used = _used_queues(cluster)
    return [part.name for queue in cluster.queues for part in queue.cluster_queues if part.name not in used]


def _used_queues(cluster: Cluster) -> set[str]:
    namespaces = (namespace for tenant in cluster.tenants for namespace in tenant.namespaces)
    return {name for namespace in namespaces for name in namespace.local_queues}

"""How Karpenter replaces the nodes of a pool: how many at a time, when, in which order, and with which grace.

Source: kubernetes-sigs/karpenter v1.14.1 pkg/controllers/disruption/drift.go, staticdrift.go, types.go (NewCandidate),
pkg/apis/v1/nodepool.go (MustGetAllowedDisruptions)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from gpuc.kubernetes.amounts import CPU
from gpuc.kubernetes.duration import format_duration
from gpuc.model import Cluster, Pool
from gpuc.model.names import POOL_LABEL
from gpuc.objects.object_set import dig, items
from gpuc.plan.change import Change, Pair

GRACE = ("spec", "template", "spec", "terminationGracePeriod")
"""The path of the time limit of draining in a NodePool."""


def pool_name(pair: Pair) -> str:
    """Returns the node pool of a NodePool: the label of its nodes, else the name of the object."""
    for value in reversed(pair.values("spec", "template", "metadata", "labels", POOL_LABEL)):
        if isinstance(value, str):
            return value
    return pair.name


def pool_of(cluster: Cluster | None, name: str) -> Pool | None:
    """Returns a pool of the spec; None without the pool."""
    return next((pool for pool in cluster.pools if pool.name == name), None) if cluster else None


def is_static(pair: Pair) -> bool:
    """Returns whether a NodePool has a fixed number of nodes, which Karpenter does not consolidate."""
    return isinstance(pair.values("spec", "replicas")[1], int)


def most_nodes(document: Any) -> int | None:
    """Returns the largest number of nodes of a NodePool: its replicas, else its limit; None without a number."""
    replicas, limit = dig(document, "spec", "replicas"), dig(document, "spec", "limits", "nodes")
    if isinstance(replicas, int):
        return replicas
    return int(limit) if isinstance(limit, str) and limit.isdecimal() else None


def nodes_text(count: int | None) -> str:
    """Returns a number of nodes as an upper bound in words."""
    return "all nodes" if count is None else f"up to {count} {'node' if count == 1 else 'nodes'}"


def nodes_of(pairs: Sequence[Pair]) -> int | None:
    """Returns the largest number of nodes of NodePools before the change; None without a number."""
    counts = [most_nodes(pair.before.document()) for pair in pairs if pair.before]
    return None if None in counts else sum(count or 0 for count in counts)


def is_replaceable(pair: Pair) -> bool:
    """Returns whether the limit of a NodePool leaves a place for the new node.

    A static NodePool starts the new node first. With the limit 0, which a leaving pool has, no node starts.
    """
    document = pair.after.document() if pair.after else {}
    replicas, limits = dig(document, "spec", "replicas"), dig(document, "spec", "limits")
    if isinstance(replicas, int):
        limit = dig(limits, "nodes")
        return not (isinstance(limit, str) and limit.isdecimal() and int(limit) <= replicas)
    return "0" not in (dig(limits, "nodes"), dig(limits, CPU))


def replaced_words(pairs: Sequence[Pair], cluster: Cluster | None) -> str:
    """Returns that Karpenter replaces the nodes of NodePools, at which pace, or that Karpenter replaces none."""
    count = nodes_text(nodes_of(pairs) or None)
    replaceable = [pair for pair in pairs if is_replaceable(pair)]
    if not replaceable:
        return f"{count} drift, and Karpenter replaces none of them"
    return f"{count} are replaced, {pace(replaceable[0], cluster)}"


def pace(pair: Pair, cluster: Cluster | None) -> str:
    """Returns how many nodes Karpenter replaces at a time, and when, by the budgets of the state after.

    Without the field, the API server adds a budget of 10%. An empty list has no limit.
    """
    value = pair.values("spec", "disruption", "budgets")[1]
    budgets = [
        budget
        for _, budget in items([{"nodes": "10%"}] if value is None else value)
        if not dig(budget, "reasons") or "Drifted" in dig(budget, "reasons")
    ]
    always = [str(dig(budget, "nodes")) for budget in budgets if not dig(budget, "schedule")]
    closed = [budget for budget in budgets if dig(budget, "schedule") and str(dig(budget, "nodes")) in ("0", "0%")]
    if any(value in ("0", "0%") for value in always):
        return "none while the budget is 0"
    return f"{_at_a_time(always)} at a time" + (f", outside of {_hours(closed, cluster)}" if closed else "")


def _at_a_time(values: list[str]) -> str:
    """Returns the strictest number and the strictest percentage, which Karpenter rounds up to at least one node."""
    most = min((int(value) for value in values if value.isdecimal()), default=None)
    share = min((int(value.rstrip("%")) for value in values if value.endswith("%")), default=100)
    if most is None or (share < 100 and most > 1):
        return f"{share}%" if most is None else f"{share}% and at most {most}"
    return "one" if most == 1 else str(most)


def _hours(closed: list[Any], cluster: Cluster | None) -> str:
    hours = cluster.spec.working_hours if cluster else None
    if hours is not None:
        return f"working hours ({hours.hours} {hours.time_zone}, {', '.join(hours.days)})"
    return ", ".join(f"{dig(budget, 'duration')} from {dig(budget, 'schedule')} (UTC)" for budget in closed)


def details(pairs: Sequence[Pair], change: Change) -> Iterator[str]:
    """Yields sentences about the order, the time, static pools, and the grace of running pods."""
    pool = pool_of(change.after.cluster, pool_name(pairs[0]))
    fixed = [pair for pair in pairs if not is_replaceable(pair)]
    static = [pair.name for pair in fixed if is_static(pair)]
    if static:
        yield (
            f"the limit of the static NodePool {', '.join(static)} leaves no place for a new node: "
            f"delete its NodeClaims by hand, see clusters/{change.after.name or 'CLUSTER'}/README.md"
        )
    if len(static) < len(fixed):
        yield "the pool starts no new node: a drifted node ends when it is empty, or when its pods fit on other nodes"
    if len(fixed) < len(pairs):
        yield "nodes without pods come first; a new node starts before an old node drains"
    if pool is not None and not fixed:
        yield f"a new node needs up to {pool.boot_minutes} minutes until its first pod starts"
    if len(pairs) > 1:
        yield f"the budgets apply to NodePool {' and NodePool '.join(pair.name for pair in pairs)} separately"
    yield _grace(pairs[0], pool)


def _grace(pair: Pair, pool: Pool | None) -> str:
    """Returns how long running pods keep a node. A running node keeps the grace period with which it started."""
    grace = dig(pair.before.document() if pair.before else {}, *GRACE)
    if isinstance(grace, str):
        return f"a node drains for at most {grace}, then all its pods end, also those with karpenter.sh/do-not-disrupt"
    if pool is not None and pool.keeps_runs and pool.spec.runs is not None:
        longest = format_duration(pool.spec.runs.longest)
        return f"a node with a run is replaced after the run ends (runs last at most {longest})"
    return "pods with karpenter.sh/do-not-disrupt and PodDisruptionBudgets that allow no eviction keep their node"

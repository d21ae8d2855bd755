"""How Karpenter replaces the nodes of a pool: how many at a time, when, in which order, and with which grace.

Source: kubernetes-sigs/karpenter v1.14.1 pkg/controllers/disruption/drift.go, staticdrift.go, types.go (NewCandidate),
pkg/apis/v1/nodepool.go (MustGetAllowedDisruptions)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gpuc.kubernetes.duration import format_duration
from gpuc.model import Cluster, Pool
from gpuc.model.names import POOL_LABEL
from gpuc.objects.object_set import dig, items
from gpuc.plan.change import Pair


def pool_name(pair: Pair) -> str:
    """Returns the node pool of a NodePool: the label of its nodes, else the name of the object."""
    for value in reversed(pair.values("spec", "template", "metadata", "labels", POOL_LABEL)):
        if isinstance(value, str):
            return value
    return pair.name


def pool_of(cluster: Cluster | None, name: str) -> Pool | None:
    """Returns a pool of the spec; None without the pool."""
    return next((pool for pool in cluster.pools if pool.name == name), None) if cluster else None


def most_nodes(document: Any) -> int | None:
    """Returns the largest number of nodes of a NodePool: its replicas, else its limit; None without a number."""
    replicas, limit = dig(document, "spec", "replicas"), dig(document, "spec", "limits", "nodes")
    if isinstance(replicas, int):
        return replicas
    return int(limit) if isinstance(limit, str) and limit.isdecimal() else None


def nodes_text(count: int | None) -> str:
    """Returns a number of nodes as an upper bound in words."""
    return "all nodes" if count is None else f"up to {count} {'node' if count == 1 else 'nodes'}"


def pace(pair: Pair, cluster: Cluster | None) -> str:
    """Returns how many nodes Karpenter replaces at a time, and when, by the budgets of the state after."""
    budgets = [
        budget
        for _, budget in items(pair.values("spec", "disruption", "budgets")[1])
        if not dig(budget, "reasons") or "Drifted" in dig(budget, "reasons")
    ]
    always = [str(dig(budget, "nodes")) for budget in budgets if not dig(budget, "schedule")]
    closed = [budget for budget in budgets if dig(budget, "schedule") and str(dig(budget, "nodes")) in ("0", "0%")]
    if any(value in ("0", "0%") for value in always):
        return "none while the budget allows no replacement"
    text = f"{_at_a_time(always)} at a time" if always else "10% at a time"
    return text + (f", outside of {_hours(closed, cluster)}" if closed else "")


def _at_a_time(values: list[str]) -> str:
    numbers = [int(value) for value in values if value.isdecimal()]
    if numbers:
        return "one" if min(numbers) == 1 else str(min(numbers))
    return min(values, key=lambda value: int(value.rstrip("%") or 100))


def _hours(closed: list[Any], cluster: Cluster | None) -> str:
    hours = cluster.spec.working_hours if cluster else None
    if hours is not None:
        return f"working hours ({hours.hours} {hours.time_zone}, {', '.join(hours.days)})"
    return ", ".join(f"{dig(budget, 'duration')} from {dig(budget, 'schedule')} (UTC)" for budget in closed)


def details(pair: Pair, cluster: Cluster | None) -> Iterator[str]:
    """Yields sentences about the order, the grace of running pods, and static pools."""
    document = pair.after.document() if pair.after else {}
    name = pool_name(pair)
    if isinstance(replicas := dig(document, "spec", "replicas"), int):
        limit = dig(document, "spec", "limits", "nodes")
        if isinstance(limit, str) and limit.isdecimal() and int(limit) <= replicas:
            yield (
                "Karpenter replaces no node of this static pool, because the limit leaves no place for a new node: "
                "delete NodeClaims by hand, see clusters/CLUSTER/README.md"
            )
        else:
            yield "Karpenter starts the new node of a static pool first, then drains the old node"
    else:
        yield "nodes without pods come first, then the nodes that drifted first; the new node starts first"
    grace = dig(pair.before.document() if pair.before else {}, "spec", "template", "spec", "terminationGracePeriod")
    pool = pool_of(cluster, name)
    if isinstance(grace, str):
        yield f"a node drains for at most {grace}, then all its pods end, also those with karpenter.sh/do-not-disrupt"
    elif pool is not None and pool.keeps_runs and pool.spec.runs is not None:
        longest = format_duration(pool.spec.runs.longest)
        yield f"a node with a run is replaced after the run ends (runs last at most {longest})"
    else:
        yield "pods with karpenter.sh/do-not-disrupt keep their node; PodDisruptionBudgets apply"

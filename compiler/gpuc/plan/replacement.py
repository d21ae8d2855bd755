"""How Karpenter replaces the nodes of a pool: how many at a time, when, in which order, and with which grace.

Source: kubernetes-sigs/karpenter v1.14.1 pkg/controllers/disruption/drift.go, staticdrift.go, types.go (NewCandidate),
pkg/apis/v1/nodepool.go (MustGetAllowedDisruptions)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from gpuc.kubernetes.amounts import CPU
from gpuc.kubernetes.duration import format_duration
from gpuc.kubernetes.quantity import quantity
from gpuc.model import Cluster, Pool
from gpuc.model.names import POOL_LABEL
from gpuc.objects.object_set import dig, items
from gpuc.plan.change import Change, Pair

GRACE = ("spec", "template", "spec", "terminationGracePeriod")
"""The path of the time limit of draining in a NodePool."""
BUDGETS = ("spec", "disruption", "budgets")
"""The path of the budgets in a NodePool."""
DRIFTED, EMPTY = "Drifted", "Empty"
"""The reasons in budgets for which Karpenter replaces drifted nodes, and ends empty nodes."""
_ZERO = ("0", "0%")
NODES = "nodes"
"""The limit of the number of nodes in a NodePool."""


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
    """Returns a number of nodes as an upper bound in words. With the limit 0, nodes from before can still run."""
    if count is None:
        return "all nodes"
    return f"up to {count} {'node' if count == 1 else 'nodes'}" if count else "the nodes that still run"


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


def replaced_words(nodes: str, pairs: Sequence[Pair], cluster: Cluster | None, misfits: Sequence[str] = ()) -> str:
    """Returns that Karpenter replaces nodes of NodePools, when and at which pace, or that Karpenter replaces none.

    Args:
        nodes: the nodes in words.
        misfits: which pods do not fit the new nodes, as in PoolDrift.
    """
    replaceable = [pair for pair in pairs if is_replaceable(pair)]
    if not replaceable:
        return f"{nodes} drift, and Karpenter replaces none of them"
    is_checked = misfits and not all(map(is_static, replaceable))
    fit = " if their pods fit the new nodes" if is_checked else ""
    full = "".join(f", but none {words}" for words in _full(replaceable))
    return f"{nodes} are replaced{fit}, {pace(replaceable[0], cluster)}{full}"


def _full(pairs: Sequence[Pair]) -> Iterator[str]:
    """Yields until when a smaller limit of a NodePool leaves no place for a new node.

    Karpenter does not count the drifted node, so an unchanged limit always leaves a place. It does not compare a static
    NodePool with this limit.

    Source: kubernetes-sigs/karpenter v1.14.1 pkg/controllers/disruption/helpers.go (SimulateScheduling),
    pkg/controllers/provisioning/scheduling/scheduler.go (addToNewNodeClaim, filterByRemainingResources)
    """
    for pair in pairs:
        if is_static(pair):
            continue
        of = f" of NodePool {pair.name}" if len(pairs) > 1 else ""
        smaller = smaller_limits(pair)
        if nodes := smaller.pop(NODES, None):
            yield f"while more than 1 node{of} runs" if nodes[1] == "1" else f"while more than {nodes[1]} nodes{of} run"
        elif smaller:
            texts = " and ".join(f"{name} {after}" for name, (_, after) in smaller.items())
            yield f"while the other nodes{of} leave no place in the limit {texts}"


def smaller_limits(pair: Pair) -> dict[str, tuple[str, str]]:
    """Returns the limits of a NodePool that shrink: the quantities before and after, by resource."""
    before, after = (value if isinstance(value, dict) else {} for value in pair.values("spec", "limits"))
    found = {}
    for name, text in after.items():
        old, new = quantity(before.get(name)), quantity(text)
        if old is not None and new is not None and new < old:
            found[str(name)] = (str(before[name]), str(text))
    return found


def pace(pair: Pair, cluster: Cluster | None) -> str:
    """Returns how many nodes Karpenter replaces at a time, and when, by the budgets of the state after."""
    value = pair.values(*BUDGETS)[1]
    if is_closed(value, DRIFTED):
        return "none while the budget is 0"
    always = [str(dig(budget, "nodes")) for budget in _budgets(value, DRIFTED) if not dig(budget, "schedule")]
    closed = closed_hours(value)
    return f"{_at_a_time(always)} at a time" + (f", outside of {_hours(closed, cluster)}" if closed else "")


def is_closed(budgets: Any, reason: str) -> bool:
    """Returns whether a budget of 0 at all times allows Karpenter to disrupt no node for a reason."""
    return any(dig(budget, "nodes") in _ZERO and not dig(budget, "schedule") for budget in _budgets(budgets, reason))


def closed_hours(budgets: Any) -> list[Any]:
    """Returns the budgets of 0 with a schedule, in whose hours Karpenter replaces no drifted node."""
    return [
        budget for budget in _budgets(budgets, DRIFTED) if dig(budget, "nodes") in _ZERO and dig(budget, "schedule")
    ]


def _budgets(value: Any, reason: str) -> list[Any]:
    """Returns the budgets for a reason. Without the field, the API server adds 10%. An empty list has no limit."""
    budgets = [budget for _, budget in items([{"nodes": "10%"}] if value is None else value)]
    reasons = [[row for _, row in items(dig(budget, "reasons"))] for budget in budgets]
    return [budget for budget, of in zip(budgets, reasons, strict=True) if not of or reason in of]


def _at_a_time(values: list[str]) -> str:
    """Returns the strictest number and the strictest percentage, which Karpenter rounds up to at least one node."""
    most = min((int(value) for value in values if value.isdecimal()), default=None)
    share = min((int(value[:-1]) for value in values if value.endswith("%") and value[:-1].isdecimal()), default=100)
    if most is None or (share < 100 and most > 1):
        return f"{share}%" if most is None else f"{share}% and at most {most}"
    return "one" if most == 1 else str(most)


def _hours(closed: list[Any], cluster: Cluster | None) -> str:
    hours = cluster.spec.working_hours if cluster else None
    if hours is not None:
        return f"working hours ({hours.hours} {hours.time_zone}, {', '.join(hours.days)})"
    return ", ".join(f"{dig(budget, 'duration')} from {dig(budget, 'schedule')} (UTC)" for budget in closed)


def details(pairs: Sequence[Pair], change: Change, misfits: Sequence[str] = ()) -> Iterator[str]:
    """Yields sentences about pods that do not fit, the order, the time, static pools, and the grace of running pods.

    Karpenter replaces a node of a dynamic NodePool only if all its pods fit a new node or other nodes.

    Source: kubernetes-sigs/karpenter v1.14.1 pkg/controllers/disruption/drift.go (AllNonPendingPodsScheduled),
    staticdrift.go
    """
    pool = pool_of(change.after.cluster, pool_name(pairs[0]))
    fixed = [pair for pair in pairs if not is_replaceable(pair)]
    static = [pair.name for pair in fixed if is_static(pair)]
    if static:
        yield (
            f"the limit of the static NodePool {', '.join(static)} leaves no place for a new node: "
            f"delete its NodeClaims by hand, see clusters/{change.after.name or 'CLUSTER'}/README.md"
        )
    replaceable = [pair for pair in pairs if is_replaceable(pair)]
    constant = [pair.name for pair in replaceable if is_static(pair)]
    if misfits and len(constant) < len(replaceable):
        yield f"a node with pods that {' or '.join(misfits)} stays until these pods change or end"
    if misfits and constant:
        yield (
            f"NodePool {', '.join(constant)} is static: its nodes are replaced also with such pods, which then stay "
            "pending"
        )
    if any(_full(replaceable)):
        yield "until then, a drifted node ends without a new node if it is empty, or if its pods fit on other nodes"
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

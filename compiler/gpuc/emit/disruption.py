"""Karpenter disruption settings: node expiry, termination grace period, consolidation and budgets."""

from __future__ import annotations

from gpuc.kubernetes.duration import format_duration
from gpuc.kubernetes.schedule import utc_hours
from gpuc.manifest.manifest import Body
from gpuc.model import Cluster, Pool

HOUR_SECONDS = 3600

_IDLE_SECONDS = {"training": 30 * 60}
"""How long an empty node is kept, by purpose of the pool. New training nodes are scarce, and a run may start soon."""
_DEFAULT_IDLE_SECONDS = 10 * 60
_USED = ("Drifted", "Underutilized")
"""The reasons for which Karpenter replaces a node with pods."""
_EMPTY: Body = {"nodes": "100%", "reasons": ["Empty"]}


def expire_after(pool: Pool) -> str:
    """Returns `expireAfter`, the maximum lifetime of a node: Never, unless the spec has a value.

    Expiry ignores disruption budgets and the annotation karpenter.sh/do-not-disrupt, and does not wait for a new node.
    Nodes that start together expire together. New images need no expiry: Karpenter replaces drifted nodes, and respects
    the budgets.

    Source: kubernetes-sigs/karpenter v1.14.1 pkg/controllers/nodeclaim/expiration/controller.go;
    aws/karpenter-provider-aws v1.14.1 website/content/en/docs/concepts/disruption.md, expiration
    """
    return "Never" if pool.spec.expire_after is None else format_duration(pool.spec.expire_after)


def termination_grace_seconds(pool: Pool) -> int | None:
    """Returns `terminationGracePeriod`, the time limit to drain a node; None for pools with runs.

    Without the limit, a draining node waits until all pods with the annotation karpenter.sh/do-not-disrupt have ended.
    With the limit, Karpenter also replaces drifted nodes with such pods: it starts a new node at once, and the new node
    is empty until the run on the old node has ended. Pools with runs therefore have no limit, and Karpenter replaces
    their drifted nodes between two runs.

    Source: kubernetes-sigs/karpenter v1.14.1 pkg/controllers/disruption/types.go (NewCandidate), queue.go
    """
    return None if pool.spec.runs else HOUR_SECONDS


def disruption(cluster: Cluster, pool: Pool) -> Body:
    """Returns the `disruption` block of a NodePool object."""
    idle_seconds = pool.spec.idle_after
    if idle_seconds is None:
        idle_seconds = _IDLE_SECONDS.get(pool.spec.purpose, _DEFAULT_IDLE_SECONDS)
    return {
        "consolidationPolicy": "WhenEmpty" if pool.is_gpu else "WhenEmptyOrUnderutilized",
        "consolidateAfter": format_duration(idle_seconds),
        "budgets": _gpu_budgets(cluster) if pool.is_gpu else [_EMPTY, {"nodes": "10%", "reasons": list(_USED)}],
    }


def _gpu_budgets(cluster: Cluster) -> list[Body]:
    """Returns the disruption budgets for GPU nodes.

    Karpenter removes all empty nodes at once. Outside of working hours, it replaces other nodes one at a time. If
    several budgets match, Karpenter applies the strictest budget.
    """
    budgets: list[Body] = [_EMPTY]
    if hours := cluster.spec.working_hours:
        offsets = cluster.catalog.time_zones[hours.time_zone].offsets
        schedule, duration_seconds = utc_hours(hours.days, hours.start_minute, hours.end_minute, offsets)
        window = {"schedule": schedule, "duration": format_duration(duration_seconds)}
        budgets.append({"nodes": "0", "reasons": list(_USED), **window})
    return [*budgets, {"nodes": "1", "reasons": list(_USED)}]

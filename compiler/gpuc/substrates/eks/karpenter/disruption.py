"""Karpenter disruption settings: node expiry, consolidation and budgets."""

from __future__ import annotations

from gpuc.kubernetes.duration import format_duration
from gpuc.kubernetes.schedule import utc_hours
from gpuc.manifest.manifest import Body
from gpuc.model import Cluster, Pool
from gpuc.substrates.eks.scaling import eks

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
    seconds = eks(pool).spec.expire_after
    return "Never" if seconds is None else format_duration(seconds)


def disruption(cluster: Cluster, pool: Pool) -> Body:
    """Returns the `disruption` block of a NodePool object."""
    idle_seconds = eks(pool).spec.idle_after
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

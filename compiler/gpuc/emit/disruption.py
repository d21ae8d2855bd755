"""Karpenter disruption settings: node expiry, termination grace period, consolidation and budgets."""

from __future__ import annotations

from gpuc.kubernetes.duration import format_duration
from gpuc.manifest.manifest import Body
from gpuc.model import Pool

HOUR_SECONDS = 3600
WORKING_HOURS = {"schedule": "0 6 * * mon-fri", "duration": "12h"}
"""Working hours in UTC. During these hours, Karpenter does not replace nodes with running pods for a new image."""

_IDLE_SECONDS = {"training": 30 * 60}
"""How long an empty node is kept, by purpose of the pool. New training nodes are scarce, and a run may start soon."""
_DEFAULT_IDLE_SECONDS = 10 * 60


def expire_after(pool: Pool) -> str:
    """Returns `expireAfter`, the maximum lifetime of a node.

    Expiry ignores disruption budgets and the annotation karpenter.sh/do-not-disrupt. Nodes of pools with runs or with
    prepaid capacity therefore never expire.
    """
    reservations = pool.spec.reservations
    is_prepaid = pool.is_static or (reservations is not None and reservations.block is not None)
    return "Never" if pool.spec.runs or is_prepaid else "720h"


def termination_grace(pool: Pool) -> str:
    """Returns the time limit to drain a node.

    Without the limit, a pod with the annotation karpenter.sh/do-not-disrupt could keep a draining node forever.
    """
    return format_duration(termination_grace_seconds(pool))


def termination_grace_seconds(pool: Pool) -> int:
    """Returns the longest run plus one checkpoint, or one hour for pools without runs."""
    runs = pool.spec.runs
    return runs.longest + (runs.checkpoint_every or 0) if runs else HOUR_SECONDS


def disruption(pool: Pool) -> Body:
    """Returns the `disruption` block of a NodePool object."""
    idle_seconds = pool.spec.idle_after
    if idle_seconds is None:
        idle_seconds = _IDLE_SECONDS.get(pool.spec.purpose, _DEFAULT_IDLE_SECONDS)
    return {
        "consolidationPolicy": "WhenEmpty" if pool.is_gpu else "WhenEmptyOrUnderutilized",
        "consolidateAfter": format_duration(idle_seconds),
        "budgets": _gpu_budgets() if pool.is_gpu else _general_budgets(),
    }


def _gpu_budgets() -> list[Body]:
    """Returns the disruption budgets for GPU nodes.

    Karpenter removes all empty nodes at once. Outside of working hours, it replaces other nodes one at a time. If
    several budgets match, Karpenter applies the strictest budget.
    """
    return [
        {"nodes": "100%", "reasons": ["Empty"]},
        {"nodes": "0", "reasons": ["Drifted", "Underutilized"], **WORKING_HOURS},
        {"nodes": "1", "reasons": ["Drifted", "Underutilized"]},
    ]


def _general_budgets() -> list[Body]:
    return [{"nodes": "100%", "reasons": ["Empty"]}, {"nodes": "10%", "reasons": ["Drifted", "Underutilized"]}]

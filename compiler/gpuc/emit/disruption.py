"""When Karpenter may take a node away: how long it lives, how long it drains, and how many go at once."""

from __future__ import annotations

from gpuc.kubernetes.duration import format_duration
from gpuc.manifest.manifest import Body
from gpuc.model import Pool

HOUR_SECONDS = 3600
WORKING_HOURS = {"schedule": "0 6 * * mon-fri", "duration": "12h"}
"""In UTC: nobody's interactive session or run is drained for a new image."""

_IDLE_SECONDS = {"training": 30 * 60}
"""How long an empty node stays, by purpose: training nodes are dear to get, and the next run may be near."""
_IDLE_SECONDS_ELSE = 10 * 60


def expire_after(pool: Pool) -> str:
    """How long a node lives. Expiry is forceful: it heeds neither budgets nor pods that must not be disrupted."""
    reservations = pool.spec.reservations
    bought = pool.is_static or (reservations is not None and reservations.block is not None)
    return "Never" if pool.spec.runs or bought else "720h"


def termination_grace(pool: Pool) -> str:
    """How long a node drains: the longest run and one checkpoint after it, else an hour.

    Without a bound, a pod that must not be disrupted keeps a node that drains, and its bill, for ever.
    """
    runs = pool.spec.runs
    return format_duration(runs.longest + (runs.checkpoint_every or 0) if runs else HOUR_SECONDS)


def disruption(pool: Pool) -> Body:
    """The disruption block of a NodePool."""
    idle_seconds = pool.spec.idle_after
    if idle_seconds is None:
        idle_seconds = _IDLE_SECONDS.get(pool.spec.purpose, _IDLE_SECONDS_ELSE)
    return {
        "consolidationPolicy": "WhenEmpty" if pool.is_gpu else "WhenEmptyOrUnderutilized",
        "consolidateAfter": format_duration(idle_seconds),
        "budgets": _gpu_budgets() if pool.is_gpu else _general_budgets(),
    }


def _gpu_budgets() -> list[Body]:
    """Empty nodes go at once; others one at a time and outside of working hours. The strictest budget counts."""
    return [
        {"nodes": "100%", "reasons": ["Empty"]},
        {"nodes": "0", "reasons": ["Drifted", "Underutilized"], **WORKING_HOURS},
        {"nodes": "1", "reasons": ["Drifted", "Underutilized"]},
    ]


def _general_budgets() -> list[Body]:
    return [{"nodes": "100%", "reasons": ["Empty"]}, {"nodes": "10%", "reasons": ["Drifted", "Underutilized"]}]

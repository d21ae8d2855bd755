"""The disruption budgets of a NodePool: how many nodes Karpenter disrupts at the same time, by reason and schedule.

Source: kubernetes-sigs/karpenter v1.14.1 pkg/apis/v1/nodepool.go (GetAllowedDisruptionsByReason,
GetAllowedDisruptions, IsActive)
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import product

from gpuc.cluster.pool import Pool as NodePool
from gpuc.cluster.pool_fields import CONSOLIDATION, IDLE_TIME, NODES, Budget
from gpuc.kubernetes.cron import WEEK_MINUTES, never_fires, schedule_error, weekly_starts
from gpuc.kubernetes.duration import parse_duration
from gpuc.model import Cluster
from gpuc.objects.object_set import dig

DRIFTED, EMPTY, UNDERUSED = "Drifted", "Empty", "Underutilized"
"""The reasons in budgets: Karpenter replaces drifted nodes, ends empty nodes, and moves pods to fewer nodes."""
NEVER, WHEN_EMPTY = "Never", "WhenEmpty"
_POLICY, _IDLE = "WhenEmptyOrUnderutilized", "0s"
"""The defaults of the API server for spec.disruption."""
_MOST = 200
"""The largest number of nodes for which budgets are compared. A percentage is that of all nodes, rounded up."""
_NODES = re.compile("([0-9]{1,9})(%?)")
_WEEK = (1 << WEEK_MINUTES) - 1


def policy_of(pool: NodePool) -> str:
    """Returns the consolidation policy of a NodePool, for example WhenEmpty."""
    return str(dig(pool.manifest.body, *CONSOLIDATION) or _POLICY)


def idle_time(pool: NodePool) -> str:
    """Returns `consolidateAfter` of a NodePool: how long a node keeps the same pods before consolidation, or Never."""
    return str(dig(pool.manifest.body, *IDLE_TIME) or _IDLE)


def is_open(pool: NodePool | None, reason: str) -> bool:
    """Returns whether Karpenter can ever disrupt nodes of a NodePool for a reason, for example because of drift.

    For a static NodePool, only drift is a possible reason, because Karpenter does not consolidate the nodes.

    Source: kubernetes-sigs/karpenter v1.14.1 pkg/controllers/disruption/consolidation.go and emptiness.go
    (ShouldDisrupt)
    """
    if pool is None or (reason != DRIFTED and (pool.is_static or idle_time(pool) == NEVER)):
        return False
    return not (reason == UNDERUSED and policy_of(pool) == WHEN_EMPTY) and not is_closed(pool, reason)


def is_closed(pool: NodePool | None, reason: str) -> bool:
    """Returns whether the budgets of a NodePool never allow Karpenter to disrupt a node for a reason such as drift."""
    own = _budgets(pool, reason)
    return all(_allowed(active, _MOST) == 0 for (active,) in _times([own]))


def allows_more(after: NodePool, before: NodePool, reason: str) -> bool:
    """Returns whether `after`, at some time, has budgets for more disrupted nodes than `before` has."""
    own, other = _budgets(after, reason), _budgets(before, reason)
    most = min(after.most_nodes or before.most_nodes or _MOST, _MOST)
    return any(
        _allowed(active, count) > _allowed(inactive, count)
        for active, inactive in _times([own, other])
        for count in range(1, most + 1)
    )


def pace(pool: NodePool | None, cluster: Cluster | None, reason: str = DRIFTED) -> str:
    """Returns how many nodes Karpenter disrupts at a time, and when: "one at a time, outside of working hours"."""
    if is_closed(pool, reason):
        return "none while the budget is 0"
    own = _budgets(pool, reason)
    # The new node of a static NodePool starts first, and needs a place in the limit: staticdrift.go, ComputeCommands.
    spare = pool.limits.get(NODES, 0) - (pool.replicas or 0) if pool and pool.is_static else 0
    places = [str(spare)] if spare > 0 else []
    always = [*places, *(budget.nodes for budget in own if not budget.schedule)]
    scheduled = {budget: f"{budget.duration} from {budget.schedule} (UTC)" for budget in own if budget.schedule}
    closed = ", ".join(text for budget, text in scheduled.items() if _number(budget, _MOST) == 0)
    if closed and cluster and (hours := cluster.spec.working_hours):
        closed = f"working hours ({hours.hours} {hours.time_zone}, {', '.join(hours.days)})"
    rows = scheduled.items() if spare != 1 else ()
    fewer = (f", {_at_a_time([*places, row.nodes])} for {text}" for row, text in rows if _number(row, _MOST))
    return f"{_at_a_time(always)} at a time{''.join(fewer)}" + (f", outside of {closed}" if closed else "")


def _at_a_time(values: list[str]) -> str:
    """Returns the strictest number and the strictest percentage.

    Karpenter rounds a percentage up to at least one node.
    """
    found = [match.groups() for value in values if (match := _NODES.fullmatch(value))]
    most = min((int(number) for number, sign in found if not sign), default=None)
    share = min((int(number) for number, sign in found if sign), default=100)
    if most is None or (share < 100 and most > 1):
        few = "all" if share == 100 else f"{share}%"
        return few if most is None else f"{few} and at most {most}"
    return "one" if most == 1 else str(most)


def _budgets(pool: NodePool | None, reason: str) -> list[Budget]:
    """Returns the budgets for a reason; a budget of 0 if Karpenter cannot read the schedule of any budget."""
    found = pool.budgets if pool else ()
    if any(budget.schedule and _active(budget) is None for budget in found):
        return [Budget("0", None, "", "")]
    return [budget for budget in found if budget.reasons is None or reason in budget.reasons]


def _allowed(active: Iterable[Budget], count: int) -> int:
    """Returns how many of a number of nodes the active budgets allow at a time."""
    return min((_number(budget, count) for budget in active), default=count)


def _number(budget: Budget, count: int) -> int:
    """Returns the number of nodes that a budget allows; 0 for a text that is no number."""
    match = _NODES.fullmatch(budget.nodes)
    if match is None:
        return 0
    return -(-int(match[1]) * count // 100) if match[2] else min(int(match[1]), count)


def _times(sides: Sequence[Sequence[Budget]]) -> Iterator[list[list[Budget]]]:
    """Yields the active budgets of both NodePools. Times with the same active budgets are yielded once.

    A schedule with days of the month or months can be active at any time of the week.
    """
    active = {budget: _active(budget) or 0 for side in sides for budget in side}
    others = {(budget.schedule, budget.duration) for budget, minutes in active.items() if minutes < 0}
    changes = 1
    for minutes in active.values():
        changes |= minutes ^ (minutes << 1) if minutes > 0 else 0
    starts = (minute for minute, bit in enumerate(reversed(f"{changes:b}")) if bit == "1" and minute < WEEK_MINUTES)
    # Each of the other schedules alone, none of them, and all of them.
    choices = [*({schedule} for schedule in sorted(others)), set[tuple[str, str]](), *([others] if others else [])]
    weekly = {frozenset(row for row, bits in active.items() if bits > 0 and bits >> minute & 1) for minute in starts}
    for now, on in product(weekly, choices):
        yield [[row for row in side if row in now or (row.schedule, row.duration) in on] for side in sides]


@lru_cache(maxsize=256)
def _active(budget: Budget) -> int | None:
    """Returns the minutes of the week in which a budget is active, as bits; -1 for a schedule that is not weekly.

    Returns None for a schedule that Karpenter cannot read.
    """
    if not budget.schedule:
        return _WEEK
    try:
        length = min(parse_duration(budget.duration) // 60, WEEK_MINUTES)
    except ValueError:
        return None
    if schedule_error(budget.schedule):
        return None
    starts = weekly_starts(budget.schedule)
    if starts is None:
        return 0 if never_fires(budget.schedule) else -1
    found = 0
    for start in starts:
        found |= ((1 << length) - 1) << start
    return (found | found >> WEEK_MINUTES) & _WEEK

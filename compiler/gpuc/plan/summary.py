"""The summary of a plan: sentences in the words of the spec.

Of impacts with the same id, those on the node pools with the most nodes come first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from gpuc.plan.change import Change
from gpuc.plan.cost_changes import ALWAYS, AT_MAXIMUM, CostChange, always_changes, newly_priced, pool_changes
from gpuc.plan.costs import difference_text, price_sources, usd
from gpuc.plan.impact import LEVELS, Impact, Level
from gpuc.plan.pool_sizes import pool_sizes
from gpuc.plan.quantities import pool_sentences, quota_sentences, tenant_sentences

if TYPE_CHECKING:
    from gpuc.plan.planner import ClusterPlan

_SENTENCES = 6
"""The maximum number of sentences of one kind."""
_DANGEROUS = (Level.DESTROYS, Level.DISRUPTS)


def summary(plan: ClusterPlan) -> Iterator[str]:
    """Yields the sentences of the summary: what is added and removed, quantities, costs, then dangerous impacts."""
    change = plan.change
    before, after = change.before.cluster, change.after.cluster
    if change.other_name:
        old, new = (plan.name, change.other_name) if change.is_removed else (change.other_name, plan.name)
        yield f"cluster {old} is renamed to {new}"
    elif change.is_new:
        yield f"cluster {plan.name} is new"
    elif change.is_removed:
        yield f"cluster {plan.name} is removed"
    elif before and after:
        for sentences in (pool_sentences, quota_sentences, tenant_sentences):
            yield from _limited(list(sentences(before, after)))
    yield from _costs(change)
    dangerous = [one for one in plan.impacts if one.level in _DANGEROUS and not one.accepted]
    nodes = {f"node pool {size.name}": size.before for size in pool_sizes(change)}
    dangerous.sort(key=lambda one: (LEVELS.index(one.level), one.id, -nodes.get(one.subject, 0)))
    yield from _limited([_clause(one) for one in dangerous])


def _costs(change: Change) -> Iterator[str]:
    """Yields the differences of the costs of all node pools, and the node pools with a new price.

    The nodes of a removed cluster go on to cost, and those of a renamed cluster cost before and after.
    """
    if change.is_removed or change.other_name:
        return
    at_maximum = list(pool_changes(change))
    yield from _total(AT_MAXIMUM, at_maximum)
    yield from _total(ALWAYS, list(always_changes(change)))
    unknown = sorted(one.name for one in at_maximum if one.missing)
    if unknown:
        yield f"the costs of {', '.join(unknown)} change, and a price is missing"
    for name, cost in newly_priced(change):
        yield f"node pool {name} is now priced: at the maximum {usd(cost.monthly_usd)} a month for instances"


def _total(what: str, changes: Iterable[CostChange]) -> Iterator[str]:
    """Yields the difference of the costs of all changes with a known difference."""
    known = [one for one in changes if one.is_priced]
    total = sum(one.monthly_usd for one in known)
    if round(total):
        sources = price_sources(cost for one in known for cost in (one.before, one.after))
        yield f"{what} {difference_text(total)} ({sources})"


def _clause(one: Impact) -> str:
    """Returns the first clause of an impact."""
    return f"{one.subject}: {one.message.split('; ')[0]}"


def _limited(sentences: list[str]) -> Iterator[str]:
    yield from sentences[:_SENTENCES]
    if len(sentences) > _SENTENCES:
        yield f"and {len(sentences) - _SENTENCES} more of this kind"

"""The summary of a plan: sentences in the words of the spec."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gpuc.plan.cost_changes import pool_changes
from gpuc.plan.costs import price_sources, usd
from gpuc.plan.impact import Impact, Level
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
    if change.is_new:
        yield f"cluster {plan.name} is new"
    elif change.is_removed:
        yield f"cluster {plan.name} is removed"
    elif before and after:
        for sentences in (pool_sentences, quota_sentences, tenant_sentences):
            yield from _limited(list(sentences(before, after)))
    yield from _cost(plan)
    dangerous = [one for one in plan.impacts if one.level in _DANGEROUS and not one.accepted]
    yield from _limited([_clause(one) for one in dangerous])


def _cost(plan: ClusterPlan) -> Iterator[str]:
    """Yields the difference of the costs of all node pools at their maximum; nothing without a known difference.

    The nodes of a removed cluster go on to cost.
    """
    change = plan.change
    if change.is_removed or (change.before.exists and change.before.cluster is None):
        return
    pools = list(pool_changes(change))
    known = [one for one in pools if one.is_priced]
    total = sum(one.monthly_usd for one in known)
    unknown = sorted(one.name for one in pools if not one.is_priced)
    without = f"without {', '.join(unknown)}, for which a price is missing" if unknown else ""
    if round(total):
        dates = price_sources(cost for one in known for cost in (one.before, one.after))
        sign = "+" if total > 0 else ""
        yield f"at the maximum {sign}{usd(total)} a month for instances ({', '.join(filter(None, (dates, without)))})"
    elif unknown:
        yield f"the costs of {', '.join(unknown)} change, and a price is missing"


def _clause(one: Impact) -> str:
    """Returns the first clause of an impact."""
    return f"{one.subject}: {one.message.split('; ')[0]}"


def _limited(sentences: list[str]) -> Iterator[str]:
    yield from sentences[:_SENTENCES]
    if len(sentences) > _SENTENCES:
        yield f"and {len(sentences) - _SENTENCES} more of this kind"

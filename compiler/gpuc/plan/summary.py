"""The summary of a plan: sentences in the words of the spec."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gpuc.plan.impact import Impact, Level
from gpuc.plan.quantities import pool_sentences, quota_sentences, tenant_sentences

if TYPE_CHECKING:
    from gpuc.plan.planner import ClusterPlan

_SENTENCES = 6
"""The maximum number of sentences of one kind."""
_DANGEROUS = (Level.DESTROYS, Level.DISRUPTS)


def summary(plan: ClusterPlan) -> Iterator[str]:
    """Yields the sentences of the summary: what is added and removed, quantities, dangerous impacts, then costs."""
    change = plan.change
    before, after = change.before.cluster, change.after.cluster
    if change.is_new:
        yield f"cluster {plan.name} is new"
    elif change.is_removed:
        yield f"cluster {plan.name} is removed"
    elif before and after:
        for sentences in (pool_sentences, quota_sentences, tenant_sentences):
            yield from _limited(list(sentences(before, after)))
    dangerous = [one for one in plan.impacts if one.level in _DANGEROUS and not one.accepted]
    yield from _limited([_clause(one) for one in dangerous])


def _clause(one: Impact) -> str:
    """Returns the first clause of an impact."""
    return f"{one.subject}: {one.message.split('; ')[0]}"


def _limited(sentences: list[str]) -> Iterator[str]:
    yield from sentences[:_SENTENCES]
    if len(sentences) > _SENTENCES:
        yield f"and {len(sentences) - _SENTENCES} more of this kind"

"""The summary of a plan: sentences in the words of the spec."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpuc.plan.planner import ClusterPlan


def summary(plan: ClusterPlan) -> Iterator[str]:
    """Yields the sentences of the summary, the most important first."""
    change = plan.change
    if change.is_new:
        yield f"cluster {plan.name} is new"
    if change.is_removed:
        yield f"cluster {plan.name} is removed"

"""The plans of all clusters of a command."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gpuc.plan.impact import Impact, Level
from gpuc.plan.planner import ClusterPlan


@dataclass(frozen=True)
class Plans:
    """The result of `gpuc plan` or `gpuc diff`."""

    before: str
    """The state before in words: a commit, or a folder."""
    clusters: tuple[ClusterPlan, ...]
    """The plans by cluster, sorted by name. Without a spec, there is one plan, whose name is empty."""
    prefix: str = ""
    """The path of the fleet in its Git repository, for example "infra/fleet/"."""

    @property
    def changed(self) -> tuple[ClusterPlan, ...]:
        """The clusters with changes, impacts, findings or notes; those with the most dangerous impacts first."""
        found = [plan for plan in self.clusters if plan.objects or plan.impacts or plan.findings or plan.notes]
        ranks = {plan.name: min((impact.level.rank for impact in plan.impacts), default=len(Level)) for plan in found}
        return tuple(sorted(found, key=lambda plan: (ranks[plan.name], plan.name)))

    def impacts(self) -> Iterator[tuple[str, Impact]]:
        """Yields the name of the cluster and the impact, the most dangerous first."""
        found = [(plan.name, impact) for plan in self.clusters for impact in plan.impacts]
        yield from sorted(found, key=lambda row: (row[1].level.rank, row[0], row[1].order))

    def fails(self, level: Level | None) -> bool:
        """Returns whether an impact that the spec does not accept has the level, or a more dangerous level."""
        if level is None:
            return False
        return any(impact.level.rank <= level.rank and not impact.accepted for _, impact in self.impacts())

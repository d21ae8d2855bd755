"""The plans of all clusters of a command."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gpuc.plan.impact import LEVELS, Impact, Level
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
        return tuple(sorted(found, key=lambda plan: (min(map(_rank, plan.impacts), default=len(LEVELS)), plan.name)))

    def impacts(self) -> Iterator[tuple[str, Impact]]:
        """Yields the name of the cluster and the impact, the most dangerous first."""
        found = [(plan.name, one) for plan in self.clusters for one in plan.impacts]
        yield from sorted(found, key=lambda row: (_rank(row[1]), row[0], row[1].id, row[1].subject, row[1].message))

    def fails(self, level: Level | None) -> bool:
        """Returns whether an impact that the spec does not accept has the level, or a more dangerous level."""
        if level is None:
            return False
        return any(_rank(one) <= LEVELS.index(level) and not one.accepted for _, one in self.impacts())


def _rank(one: Impact) -> int:
    return LEVELS.index(one.level)

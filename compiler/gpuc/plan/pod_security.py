"""The Pod Security levels that namespaces enforce, before and after a change."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gpuc.admission.pod_security import LEVELS
from gpuc.diagnostics.finding import Path
from gpuc.plan.change import Change, Pair

LABEL = "pod-security.kubernetes.io/enforce"


@dataclass(frozen=True)
class LevelChange:
    """Another Pod Security level of a namespace that both states have."""

    pair: Pair
    before: str
    after: str
    path: Path = ("metadata", "labels", LABEL)

    @property
    def rises(self) -> bool:
        """Whether the level is stricter after the change."""
        return LEVELS.index(self.after) > LEVELS.index(self.before)


def level_changes(change: Change) -> Iterator[LevelChange]:
    """Yields the namespaces whose level changes."""
    for pair in change.pairs("", "Namespace"):
        if pair.is_changed:
            before, after = (value or LEVELS[0] for value in pair.values("metadata", "labels", LABEL))
            if before != after and {before, after} <= set(LEVELS):
                yield LevelChange(pair, before, after)

"""The Pod Security levels that namespaces enforce, before and after a change."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gpuc.diagnostics.finding import Path
from gpuc.plan.change import Change, Pair

LABEL = "pod-security.kubernetes.io/enforce"
_LEVELS = ("privileged", "baseline", "restricted")
"""The levels, the least strict first. A namespace without the label enforces the first."""


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
        return _LEVELS.index(self.after) > _LEVELS.index(self.before)


def level_changes(change: Change) -> Iterator[LevelChange]:
    """Yields the namespaces whose level changes."""
    for pair in change.pairs("", "Namespace"):
        if pair.is_changed:
            before, after = (value or _LEVELS[0] for value in pair.values("metadata", "labels", LABEL))
            if before != after and {before, after} <= set(_LEVELS):
                yield LevelChange(pair, before, after)

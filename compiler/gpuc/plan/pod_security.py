"""The Pod Security levels that namespaces enforce, before and after a change."""

from __future__ import annotations

from collections.abc import Iterator

from gpuc.admission.pod_security import LEVELS
from gpuc.plan.change import Change
from gpuc.plan.impact import Raised

LABEL = "pod-security.kubernetes.io/enforce"


def level_changes(change: Change, *, rises: bool) -> Iterator[Raised]:
    """Yields an impact for each namespace of both states whose level rises, or falls."""
    path = ("metadata", "labels", LABEL)
    for pair in change.kept("", "Namespace"):
        before, after = (value or LEVELS[0] for value in pair.values(*path))
        is_known = before != after and {before, after} <= set(LEVELS)
        if is_known and (LEVELS.index(after) > LEVELS.index(before)) == rises:
            message = f"enforces Pod Security level {after} instead of {before}"
            yield Raised(f"namespace {pair.name}", message, pair.after, path)

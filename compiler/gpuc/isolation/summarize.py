"""Names in a message: a few, then how many more there are."""

from __future__ import annotations

from collections.abc import Iterable

_FEW = 3


def few(names: Iterable[str]) -> str:
    """A few names, sorted, and the count of the rest."""
    listed = sorted(set(names))
    more = f" and {len(listed) - _FEW} more" if len(listed) > _FEW else ""
    return ", ".join(listed[:_FEW]) + more

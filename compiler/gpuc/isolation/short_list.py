"""Lists of names in messages: the first names, and the number of the others."""

from __future__ import annotations

from collections.abc import Iterable

_MAX_NAMES = 3


def short_list(names: Iterable[str]) -> str:
    """Returns the first names in alphabetical order, and the number of the others: "a, b, c and 4 more"."""
    listed = sorted(set(names))
    more = f" and {len(listed) - _MAX_NAMES} more" if len(listed) > _MAX_NAMES else ""
    return ", ".join(listed[:_MAX_NAMES]) + more


def with_kind(kind: str, names: Iterable[str]) -> str:
    """Returns a short list of names after their kind: "tenant red", or "tenants blue, red and 4 more"."""
    several = set(names)
    return f"{kind}{'s' if len(several) > 1 else ''} {short_list(several)}"

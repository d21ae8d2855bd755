"""Findings about unknown names."""

from __future__ import annotations

from collections.abc import Iterable

from gpuc.diagnostics.finding import Finding, Path, Severity, declare_rule
from gpuc.diagnostics.spelling import nearest, write

UNRESOLVED = declare_rule(
    "VER003", Severity.ERROR, "A name refers to nothing.",
    "A name with different spellings in two places is a frequent cause of outages: the queue stays inactive, the "
    "pod stays pending, or the sync fails.",
)  # fmt: skip


def unknown(noun: str, name: str, known: Iterable[str], path: Path, *, on_key: bool = False) -> Finding:
    """The finding for an unknown name, with a suggestion. The noun says what the name refers to, for example "pool"."""
    names = list(known)
    allowed = f"; expected one of {', '.join(names)}" if 0 < len(names) <= 12 else ""
    message = f'there is no {noun} "{name}"{allowed}'
    return UNRESOLVED.at(path, message, fix=write(nearest(name, names)), on_key=on_key)

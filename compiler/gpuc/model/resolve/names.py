"""Names that resolve to nothing."""

from __future__ import annotations

from collections.abc import Iterable

from gpuc.diagnostics.finding import Finding, Path, Severity, declare_rule
from gpuc.diagnostics.spelling import nearest, write

UNRESOLVED = declare_rule(
    "VER003", Severity.ERROR, "A name does not resolve.",
    "Most outages of these clusters are one name that is spelled differently in two places: the queue stays inactive, "
    "the pod pending, the sync fails.",
)  # fmt: skip


def unknown(what: str, name: str, known: Iterable[str], path: Path, *, on_key: bool = False) -> Finding:
    """The finding that a name stands for nothing, with the nearest one that does."""
    names = list(known)
    shown = f"; there are {', '.join(names)}" if 0 < len(names) <= 12 else ""
    message = f'there is no {what} "{name}"{shown}'
    return UNRESOLVED.at(path, message, fix=write(nearest(name, names)), on_key=on_key)

"""Findings that the spec accepts with a reason, and acceptances that accept nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from gpuc.diagnostics.finding import Finding, Path, Severity, declare_rule

UNUSED = declare_rule(
    "ACC001", Severity.WARNING, "An acceptance has no effect.",
    "The finding that it accepted is gone or elsewhere; left there, it would hide the next one.",
)  # fmt: skip


def accepted(findings: Iterable[Finding], tree: dict[str, Any]) -> list[Finding]:
    """The findings without those that an `accept` at their path or above names, and one for each unused acceptance."""
    acceptances = set(_acceptances(tree, ()))
    used: set[Path] = set()
    kept = []
    for finding in findings:
        above = ((*finding.path[:depth], "accept", finding.id) for depth in range(len(finding.path) + 1))
        covering = acceptances.intersection(above)
        used |= covering
        if not covering:
            kept.append(finding)
    unused = [path for path in _acceptances(tree, ()) if path not in used]
    return kept + [UNUSED.at(path, f"{path[-1]} is accepted here, but does not occur", on_key=True) for path in unused]


def _acceptances(node: Any, path: Path) -> Iterator[Path]:
    if isinstance(node, dict):
        for key, value in node.items():
            if key == "accept" and isinstance(value, dict):
                yield from ((*path, key, name) for name in value)
            else:
                yield from _acceptances(value, (*path, key))

"""Findings that the spec accepts with a reason, and acceptances that accept nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from gpuc.diagnostics.finding import Finding, Path, Severity, fault

UNUSED = fault(
    "ACC001", Severity.WARNING, "An acceptance has no effect.",
    "What it once accepted is gone, or stands elsewhere; left there, it would hide the next one.",
)  # fmt: skip


JUDGES = ("REF", "QTA", "SCD", "PLC", "NSP", "ISO", "RBA", "OBJ")
"""Topics of what is found in the output, after the rules have passed."""
SAME = {"QTA001": "KRP004"}
"""What judges call by another name than the rule that an acceptance names: more promised than can exist."""


def accepted(findings: Iterable[Finding], tree: dict[str, Any], *, judged: bool = False) -> list[Finding]:
    """The findings without those that an `accept` at their path or above names, and one for each unused acceptance.

    Args:
        judged: whether these are the judges' findings; acceptances of rules' findings are not counted as unused then.
    """
    every = dict(_acceptances(tree, ()))
    reasons = {path for path in every if str(path[-1]).startswith(JUDGES) == judged}
    used: set[Path] = set()
    kept = []
    for finding in findings:
        covering = [
            (*finding.path[:depth], "accept", name)
            for depth in range(len(finding.path) + 1)
            for name in (finding.id, SAME.get(finding.id, finding.id))
            if (*finding.path[:depth], "accept", name) in every
        ]
        used.update(covering)
        if not covering:
            kept.append(finding)
    unused = [path for path in reasons if path not in used]
    return kept + [UNUSED.at(path, f"{path[-1]} is accepted here, but does not occur", on_key=True) for path in unused]


def _acceptances(node: Any, path: Path) -> Iterator[tuple[Path, str]]:
    if isinstance(node, dict):
        for key, value in node.items():
            if key == "accept" and isinstance(value, dict):
                yield from (((*path, key, name), reason) for name, reason in value.items())
            else:
                yield from _acceptances(value, (*path, key))

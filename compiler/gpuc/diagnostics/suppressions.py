"""Accepted findings: with the key `accept` the spec accepts findings, by rule id and with a reason."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from gpuc.diagnostics.finding import Finding, Path, Severity, declare_rule
from gpuc.diagnostics.free_form import is_free_form

UNUSED = declare_rule(
    "ACC001", Severity.WARNING, "An entry of `accept` matches no finding.",
    "The finding has disappeared or is at another path. The entry would hide a later finding of the same rule.",
)  # fmt: skip


def apply_acceptances(findings: Iterable[Finding], spec: dict[str, Any]) -> list[Finding]:
    """Returns the findings that the spec does not accept, and a warning for each entry of `accept` without a finding.

    An entry accepts the findings of its rule at the map that contains `accept`, and below the map.
    """
    entries = set(_entries(spec, ()))
    used: set[Path] = set()
    remaining = []
    for finding in findings:
        matching = entries.intersection(_candidates(finding.path, finding.id))
        used |= matching
        if not matching:
            remaining.append(finding)
    unused = [path for path in _entries(spec, ()) if path not in used]
    for path in unused:
        message = f"accept names {path[-1]}, but gpuc reports no finding of rule {path[-1]} at this path or below"
        remaining.append(UNUSED.at(path, message, fix=f"remove {path[-1]} from accept", on_key=True))
    return remaining


def accepts(spec: dict[str, Any], path: Path, id: str) -> bool:  # noqa: A002
    """Returns whether the spec accepts findings of a rule at a path."""
    node: Any = spec
    for depth, step in enumerate((*path, "accept")):
        if is_free_form(path[:depth]) or not isinstance(node, dict | list):
            return False
        values: dict[Any, Any] = node if isinstance(node, dict) else dict(enumerate(node))
        entries = values.get("accept")
        if isinstance(entries, dict) and id in entries:
            return True
        node = values.get(step)
    return False


def _candidates(path: Path, id: str) -> Iterator[Path]:  # noqa: A002
    """Yields the paths of all entries of `accept` that accept a finding of a rule at a path."""
    return ((*path[:depth], "accept", id) for depth in range(len(path) + 1))


def _entries(node: Any, path: Path) -> Iterator[Path]:
    """Yields the path of every entry of every `accept` in the value, except in Helm values and patches."""
    if is_free_form(path):
        return
    if isinstance(node, list):
        for index, value in enumerate(node):
            yield from _entries(value, (*path, index))
    if isinstance(node, dict):
        for key, value in node.items():
            if key == "accept" and isinstance(value, dict):
                yield from ((*path, key, name) for name in value)
            else:
                yield from _entries(value, (*path, key))

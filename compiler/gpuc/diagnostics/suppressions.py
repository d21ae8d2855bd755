"""Accepted findings: with the key `accept` the spec accepts findings, by rule id and with a reason."""

from collections.abc import Iterable, Iterator
from typing import Any

from gpuc.diagnostics.finding import Finding, Path, Severity, declare_rule
from gpuc.diagnostics.free_form import is_free_form

UNUSED = declare_rule("ACC001", Severity.WARNING, "An entry of `accept` matches no finding.",
    "The finding has disappeared or is at another path. "
    "The entry would hide a later finding of the same rule.")  # fmt: skip


IMPACT = "IMP"
"""The letters at the start of the ids of impacts. `gpuc plan` reports entries of `accept` that match no impact."""


def apply_acceptances(findings: Iterable[Finding], spec: dict[str, Any]) -> list[Finding]:
    """Returns the findings that the spec does not accept, and a warning for each entry of `accept` without a finding.

    An entry accepts the findings of its rule at the map that contains `accept`, and below the map.
    """
    found, entries = list(findings), list(_entries(spec, ()))
    used = {candidate for finding in found for candidate in candidates(finding.path, finding.id)}
    remaining = _others(found, set(entries))
    for path in entries:
        if path not in used and not str(path[-1]).startswith(IMPACT):
            message = f"accept names {path[-1]}, but gpuc reports no finding of rule {path[-1]} at this path or below"
            remaining.append(UNUSED.at(path, message, fix=f"remove {path[-1]} from accept", on_key=True))
    return remaining


def unaccepted(findings: Iterable[Finding], spec: dict[str, Any]) -> list[Finding]:
    """Returns the findings that the spec does not accept."""
    return _others(findings, set(_entries(spec, ())))


def _others(findings: Iterable[Finding], entries: set[Path]) -> list[Finding]:
    return [finding for finding in findings if entries.isdisjoint(candidates(finding.path, finding.id))]


def acceptances(spec: dict[str, Any]) -> Iterator[tuple[Path, str]]:
    """Yields the path of every entry of every `accept` in the spec, with its reason."""
    for path in _entries(spec, ()):
        value: Any = spec
        for step in path:
            value = value[step]
        yield path, str(value)


def accepts(spec: dict[str, Any], path: Path, id: str) -> bool:  # noqa: A002
    """Returns whether the spec accepts findings of a rule at a path."""
    node: Any = spec
    for depth, step in enumerate((*path, None)):
        entries = node.get("accept") if isinstance(node, dict) and not is_free_form(path[:depth]) else None
        if isinstance(entries, dict) and id in entries:
            return True
        try:
            node = node[step]
        except (KeyError, IndexError, TypeError):
            return False
    return False


def candidates(path: Path, id: str) -> Iterator[Path]:  # noqa: A002
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

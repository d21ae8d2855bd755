"""Removes the findings that users accept with a reason from a report.

In a spec, the key `accept` accepts findings. In manifests, a comment accepts findings. A list in gpuc.yaml can also
accept findings. Each of them names the id of a rule.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Any

from msgspec import Struct

from gpuc.diagnostics.finding import Finding, Mark, Path, Severity, declare_rule
from gpuc.diagnostics.free_form import is_free_form
from gpuc.diagnostics.place import dotted

UNUSED = declare_rule("ACC001", Severity.WARNING,
    "An entry of `accept`, of the list in gpuc.yaml, or a comment `# gpuc: ignore` matches no finding.",
    "The finding has disappeared or is at another path. "
    "The entry would hide a later finding of the same rule.")  # fmt: skip


IMPACT = "IMP"
"""The letters at the start of the ids of impacts. `gpuc plan` reports entries of `accept` that match no impact."""


def apply_acceptances(findings: Iterable[Finding], spec: dict[str, Any]) -> list[Finding]:
    """Returns the findings that the spec does not accept, and a warning for each unused entry of `accept`.

    An entry accepts the findings of its rule at the map that contains `accept`, and below the map.
    """
    found, entries = list(findings), list(_entries(spec, ()))
    used = {candidate for finding in found for candidate in candidates(finding.path, finding.id)}
    remaining = _others(found, set(entries))
    for path in entries:
        if path not in used and not str(path[-1]).startswith(IMPACT):
            element = dotted(path[1:-2] or path[:1])
            message = f"accept contains {path[-1]}, but {element} has no finding of rule {path[-1]}"
            remaining.append(UNUSED.at(path, message, fix=f"remove {path[-1]} from accept", on_key=True))
    return remaining


def unaccepted(findings: Iterable[Finding], spec: dict[str, Any]) -> list[Finding]:
    """Returns the findings that no key `accept` of the spec accepts."""
    return _others(findings, set(_entries(spec, ())))


def _others(findings: Iterable[Finding], entries: set[Path]) -> list[Finding]:
    return [finding for finding in findings if entries.isdisjoint(candidates(finding.path, finding.id))]


def acceptances(spec: dict[str, Any]) -> Iterator[tuple[Path, str]]:
    """Yields the path and the reason of every entry in an `accept` of the spec."""
    for path in _entries(spec, ()):
        value: Any = spec
        for step in path:
            value = value[step]
        yield path, str(value)


def accepts(spec: dict[str, Any], path: Path, id: str) -> bool:  # noqa: A002
    """Returns whether a key `accept` of the spec accepts findings of a rule at this path."""
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
    """Yields the paths in the spec where an `accept` would accept a finding of a rule at a path."""
    return ((*path[:depth], "accept", id) for depth in range(len(path) + 1))


class Ignored(Struct, frozen=True):
    """A comment in a manifest, or an entry of the list in gpuc.yaml, that accepts findings of a rule."""

    id: str
    mark: Mark
    """The place of the comment or of the entry."""
    files: str
    """The absolute path of a file or a folder, or a pattern in which * also matches slashes."""
    scope: str
    """The absolute path of the folder with all files that can have the finding."""
    lines: tuple[int, int] | None = None
    """The first and the last line of the findings, from 1; None for complete files."""

    def covers(self, mark: Mark | None) -> bool:
        """Returns whether the entry accepts the findings of its rule at a position in a file."""
        if mark is None or (self.lines and not self.lines[0] <= mark.line <= self.lines[1]):
            return False
        file = os.path.abspath(mark.file)
        return f"{file}/".startswith(f"{self.files}/") or fnmatchcase(file, self.files)


def apply_ignored(
    findings: Iterable[Finding], entries: Sequence[Ignored], paths: Iterable[str]
) -> tuple[list[Finding], int]:
    """Returns the findings that no entry accepts, warnings about unused entries, and how many findings were accepted.

    Args:
        paths: the files and folders that were checked. An entry that also applies to other files is never unused.
    """
    unused, remaining, accepted = dict.fromkeys(entries), [], 0
    for finding in findings:
        covering = [entry for entry in entries if entry.id == finding.id and entry.covers(finding.mark)]
        accepted += bool(covering)
        remaining += [] if covering else [finding]
        for entry in covering:
            unused.pop(entry, None)
    folders = [os.path.join(os.path.abspath(path), "") for path in paths]
    for entry in unused:
        if f"{entry.scope}/".startswith(tuple(folders)):
            message = f"{entry.id} is ignored here, but gpuc reports no finding of rule {entry.id}"
            remaining.append(UNUSED.at((), message, fix=f"remove the entry of {entry.id}", mark=entry.mark))
    return remaining, accepted


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

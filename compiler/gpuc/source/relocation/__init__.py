"""Rewrites the text of a spec file so that all fields are at their new places; everything else keeps its layout.

A moved entry takes its comments with it: the lines directly above with the same indentation, the comment at the end of
the line, and deeper lines. Each result is read again, and has to have the same values and comments.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from gpuc.diagnostics.finding import Finding
from gpuc.documents.composer import Node
from gpuc.source.document import compose
from gpuc.source.moved import Move, moved, moves
from gpuc.source.relocation.draft import Draft
from gpuc.source.relocation.network import move_out
from gpuc.source.relocation.pools import move_within
from gpuc.source.relocation.spans import Entry, Spans, UnusualLayoutError


def relocated(text: str, file: str) -> str | None:
    """Returns the text of a spec file or layer with all movable fields at their new places.

    A field whose new place has a value stays where it is.

    Returns:
        The same text if there is nothing to move; None if the text cannot be parsed, or if gpuc cannot move the fields
        and keep the values, the comments and the layout.
    """
    document, _ = compose(text, file)
    if document is None:
        return None
    if not free_moves(document):
        return text
    from yaml import YAMLError  # imported here, because completion reads no file

    is_open = not text.endswith(("\n", "\r"))
    complete = text + ("\r\n" if "\r\n" in text else "\n") * is_open
    try:
        spans = Spans(complete)
        result = _rewritten(spans, free_moves(document))
        if is_open:
            result = result.removesuffix("\n").removesuffix("\r")
        has_comments = Counter(spans.comments()) == Counter(Spans(result).comments())
    except (UnusualLayoutError, YAMLError, ValueError, RecursionError):
        return None
    return result if has_comments and _has_same_values(text, result, file) else None


def free_moves(document: Node) -> list[Move]:
    """Returns the fields that are at their old places and whose new places are free, in the order of the file."""
    return [move for move in moves(document) if move.taken_at is None]


def _rewritten(spans: Spans, found: list[Move]) -> str:
    """Returns the text with the fields at their new places."""
    groups: dict[tuple[Any, ...], list[tuple[Entry, str]]] = {}
    places: dict[tuple[Any, ...], list[Entry]] = {}
    for move in found:
        entries = list(_entries(spans, move.old))
        if len(entries) < len(move.old):
            continue  # the field is in the value of an anchor, which the path of the anchor moves
        group = (move.old[:-1], move.new[:-1])
        groups.setdefault(group, []).append((entries[-1], str(move.new[-1])))
        places[group] = entries[:-1]
    draft = Draft(spans)
    for (old, new), moved_entries in groups.items():
        if new[:-1] == old:
            move_within(draft, places[old, new][-1], str(new[-1]), moved_entries)
        else:
            move_out(draft, places[old, new][len(new) - 2 :], str(new[-1]), moved_entries)
    return draft.result()


def _entries(spans: Spans, path: tuple[Any, ...]) -> Iterator[Entry]:
    """Yields the entries from the root of the text to a path. An alias ends the path."""
    value = spans.root
    for step in path:
        entry = value.entry(step)
        if entry is None:
            return
        yield entry
        value = entry.value


def _has_same_values(before: str, after: str, file: str) -> bool:
    """Returns whether a text has the values of another text at their new places, and no more fields to move."""
    old, old_findings = compose(before, file)
    new, new_findings = compose(after, file)
    if old is None or new is None or free_moves(new) or _errors(new_findings) - _errors(old_findings):
        return False
    return _same(moved(old)[0], new)


def _errors(findings: tuple[Finding, ...]) -> Counter[str]:
    return Counter(finding.id for finding in findings if finding.is_error)


def _same(node: Node, other: Node) -> bool:
    """Returns whether two values are equal, also in their types and in the texts of numbers."""
    value, others = node.value, other.value
    if type(value) is not type(others) or node.raw != other.raw:
        return False
    if isinstance(value, dict):
        return value.keys() == others.keys() and all(_same(child, others[key]) for key, child in value.items())
    if isinstance(value, list):
        return len(value) == len(others) and all(map(_same, value, others))
    return repr(value) == repr(others)

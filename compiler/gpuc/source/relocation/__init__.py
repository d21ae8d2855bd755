"""Rewrites a spec file so that all fields are at their new paths. Everything else in the file keeps its layout.

An entry of a map in block style moves as complete lines: its own lines, the comments directly above it with the same
indentation, and deeper comments after it. An entry of a map in flow style moves as the text from its key to the end of
its value. A result is used only if it has the same values and comments.
"""

from collections import Counter
from collections.abc import Iterable

from yaml import YAMLError

from gpuc.diagnostics.finding import Finding, Path
from gpuc.documents.composer import Node
from gpuc.source.document import compose
from gpuc.source.moved import Move, moved, moves
from gpuc.source.relocation.group import edits
from gpuc.source.relocation.layout import Layout, UnusualLayoutError, edited


def relocated(text: str, file: str) -> str | None:
    """Returns the text of a spec file or layer with all fields at their new paths.

    A field stays where it is if there is already a value at its new path.

    Returns:
        The same text if there is nothing to move; None if the text cannot be parsed, or if gpuc cannot move the fields
        and keep the values, the comments and the layout.
    """
    document, _ = compose(text, file)
    if document is None:
        return None
    if not free_moves(document):
        return text
    end = "" if text.endswith(("\n", "\r")) else "\r\n" if "\r\n" in text else "\n"
    try:
        before = Layout(text + end)
        after = edited(before.text, [edit for group in _groups(document, before) for edit in edits(before, group)])
        has_comments = Layout(after).comments() == before.comments()
    except (UnusualLayoutError, YAMLError, ValueError, RecursionError):
        return None
    after = after.removesuffix(end)
    return after if has_comments and _has_same_values(text, after, file) else None


def free_moves(document: Node) -> list[Move]:
    """Returns the fields at old paths whose new paths have no value yet, in the order of the file."""
    return [move for move in moves(document) if move.taken_at is None]


def _groups(document: Node, layout: Layout) -> Iterable[list[Move]]:
    """Returns the fields that move from the same map to the same map, without those in the value of an alias.

    If the value of an alias contains a field, the value of the anchor contains the same field. When the field of the
    anchor moves, it moves for the alias too.
    """
    groups: dict[tuple[Path, Path], list[Move]] = {}
    for move in free_moves(document):
        if layout.path(move.old):
            groups.setdefault((move.old[:-1], move.new[:-1]), []).append(move)
    return groups.values()


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

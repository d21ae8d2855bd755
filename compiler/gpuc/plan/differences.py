"""Finds the fields in which two versions of a document differ."""

from collections.abc import Iterator
from typing import Any, Final

from msgspec import Struct

from gpuc.diagnostics.finding import Path


class Missing:
    """The type of the constant MISSING, which replaces the value of a field that a document does not have."""

    def __repr__(self) -> str:
        return "MISSING"


MISSING: Final = Missing()
"""The value of a field that a document does not have."""
IDENTITIES = ("name", "key", "id", "type")
"""The fields that identify the items of a list of maps, if their values are unique in both lists."""


class FieldChange(Struct, frozen=True):
    """A field whose values differ. A list of scalars is one value. The items of other lists are compared one by one."""

    path: Path
    """The path in the document after the change; in the document before the change, if the field was removed."""
    before: Any
    """The value before the change, or MISSING."""
    after: Any
    """The value after the change, or MISSING."""

    def is_below(self, *prefix: str | int) -> bool:
        """Returns whether the changed field is at this path or below this path."""
        return self.path[: len(prefix)] == prefix


def differences(before: Any, after: Any) -> Iterator[FieldChange]:
    """Yields the fields that differ, in the order of the document after the change, then the removed fields.

    A map that exists in only one of the documents is one field.
    """
    yield from _differences(before, after, (), ())


def leaves(change: FieldChange) -> Iterator[FieldChange]:
    """Yields a change for each scalar and list in an added or removed map. Any other change is yielded as it is."""
    present = change.after if change.before is MISSING else change.before
    if isinstance(present, dict) and present and MISSING in (change.before, change.after):
        for key, value in present.items():
            inner = (MISSING, value) if change.before is MISSING else (value, MISSING)
            yield from leaves(FieldChange((*change.path, key), *inner))
        return
    yield change


def _differences(before: Any, after: Any, old: Path, new: Path) -> Iterator[FieldChange]:
    """Yields the fields that differ below two paths.

    Args:
        old: the path in the document before the change. It differs from `new` where the items of a list move.
        new: the path in the document after the change.
    """
    if isinstance(before, dict) and isinstance(after, dict):
        for key in (*after, *(key for key in before if key not in after)):
            yield from _differences(before.get(key, MISSING), after.get(key, MISSING), (*old, key), (*new, key))
    elif isinstance(before, list) and isinstance(after, list):
        yield from _list_differences(before, after, old, new)
    elif not _is_same(before, after):
        yield FieldChange(old if after is MISSING else new, before, after)


def _list_differences(before: list[Any], after: list[Any], old: Path, new: Path) -> Iterator[FieldChange]:
    if not all(isinstance(item, dict | list) for item in (*before, *after)) or not before or not after:
        if not _is_same(before, after):
            yield FieldChange(new, before, after)
        return
    field = _identity(before, after)
    rows: list[dict[Any, int]]
    rows = [{item[field] if field else index: index for index, item in enumerate(items)} for items in (before, after)]
    is_different = False
    for name in (*rows[1], *(name for name in rows[0] if name not in rows[1])):
        i, j = (indexes.get(name, 0) for indexes in rows)
        values = before[i] if name in rows[0] else MISSING, after[j] if name in rows[1] else MISSING
        for change in _differences(*values, (*old, i), (*new, j)):
            is_different = True
            yield change
    # The order of containers, environment variables, flavors and rules has a meaning.
    if not is_different and list(rows[0]) != list(rows[1]):
        yield FieldChange(new, before, after)


def _is_same(before: Any, after: Any) -> bool:
    """Returns whether two values are equal and have equal types: 1 is not true."""
    if type(before) is not type(after):
        return False
    if isinstance(before, dict):
        return before.keys() == after.keys() and all(_is_same(value, after[key]) for key, value in before.items())
    if isinstance(before, list):
        return len(before) == len(after) and all(map(_is_same, before, after))
    return bool(before == after)


def _identity(before: list[Any], after: list[Any]) -> str | None:
    """Returns the field that identifies the items of both lists; None if there is no such field."""
    for field in IDENTITIES:
        if all(_is_unique(field, items) for items in (before, after)):
            return field
    return None


def _is_unique(field: str, items: list[Any]) -> bool:
    values = [item.get(field) if isinstance(item, dict) else None for item in items]
    return all(isinstance(value, str) for value in values) and len(set(values)) == len(values)

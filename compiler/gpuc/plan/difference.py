"""The differences of two documents, field by field."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from gpuc.diagnostics.finding import Path


class Missing:
    """The type of MISSING."""

    def __repr__(self) -> str:
        return "MISSING"


MISSING: Final = Missing()
"""The value of a field that a document does not have."""
_IDENTITIES = ("name", "key", "id", "type")
"""The fields that identify the items of a list of maps, if their values are unique in both lists."""


@dataclass(frozen=True, slots=True)
class FieldChange:
    """A field whose values differ. Lists of scalars are one value; the items of other lists are compared."""

    path: Path
    """The path in the document after the change; in the document before the change, if the field was removed."""
    before: Any
    """The value before the change, or MISSING."""
    after: Any
    """The value after the change, or MISSING."""

    def is_below(self, *prefix: str | int) -> bool:
        """Returns whether the field is at a path or below the path."""
        return self.path[: len(prefix)] == prefix


def differences(before: Any, after: Any, path: Path = ()) -> Iterator[FieldChange]:
    """Yields the fields that differ, in the order of the document after the change, then the removed fields.

    A map that only one document has is one field.
    """
    if isinstance(before, dict) and isinstance(after, dict):
        for key in (*after, *(key for key in before if key not in after)):
            yield from differences(before.get(key, MISSING), after.get(key, MISSING), (*path, key))
    elif isinstance(before, list) and isinstance(after, list):
        yield from _list_differences(before, after, path)
    elif before != after or type(before) is not type(after):
        yield FieldChange(path, before, after)


def _list_differences(before: list[Any], after: list[Any], path: Path) -> Iterator[FieldChange]:
    if before == after:
        return
    if not all(isinstance(item, dict | list) for item in (*before, *after)) or not before or not after:
        yield FieldChange(path, before, after)
        return
    keys = _identity(before, after)
    if keys is None:
        for index in range(max(len(before), len(after))):
            yield from differences(_item(before, index), _item(after, index), (*path, index))
        return
    old, new = ({item[keys]: (index, item) for index, item in enumerate(items)} for items in (before, after))
    for name in (*new, *(name for name in old if name not in new)):
        index = new[name][0] if name in new else old[name][0]
        yield from differences(old.get(name, (0, MISSING))[1], new.get(name, (0, MISSING))[1], (*path, index))


def _identity(before: list[Any], after: list[Any]) -> str | None:
    """Returns the field that identifies the items of both lists; None if there is no such field."""
    for field in _IDENTITIES:
        if all(_is_unique(field, items) for items in (before, after)):
            return field
    return None


def _is_unique(field: str, items: list[Any]) -> bool:
    values = [item.get(field) if isinstance(item, dict) else None for item in items]
    return all(isinstance(value, str) for value in values) and len(set(values)) == len(values)


def _item(items: list[Any], index: int) -> Any:
    return items[index] if index < len(items) else MISSING

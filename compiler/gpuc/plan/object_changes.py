"""The objects that change, field by field, by the value of the spec that causes the change."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from gpuc.diagnostics.finding import Mark, Path
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import dig
from gpuc.plan.causes import place_of
from gpuc.plan.change import Change, Pair, grouped
from gpuc.plan.difference import IDENTITIES, MISSING, FieldChange


@dataclass(frozen=True, slots=True)
class ChangedField:
    """A field of an object that changes, with the value of the spec that caused the change."""

    pair: Pair
    field: FieldChange
    cause: Path
    """The path in the merged spec."""
    mark: Mark | None
    """The position of the cause; for an object that people wrote, the position in its file."""
    is_before: bool
    """Whether the position is in the state before."""

    @property
    def place(self) -> str:
        """The path of the field in words: items of lists have the name of the item instead of a number."""
        return _place(_holder(self.pair, self.field).document(), self.field.path)


@dataclass(frozen=True, slots=True)
class CauseGroup:
    """The fields that a value of the spec changes."""

    cause: Path
    mark: Mark | None
    is_before: bool
    spec_change: FieldChange | None
    """The change of the value in the spec; None if the objects change without it, for example with a new gpuc."""
    fields: tuple[ChangedField, ...]

    @property
    def objects(self) -> tuple[tuple[Pair, tuple[ChangedField, ...]], ...]:
        """The fields by object, in the order of the objects."""
        groups = grouped(self.fields, lambda changed: id(changed.pair))
        return tuple((group[0].pair, tuple(group)) for group in groups.values())


@lru_cache(maxsize=8)
def changed_fields(change: Change, pairs: tuple[Pair, ...]) -> tuple[ChangedField, ...]:
    """Returns the fields that differ, in the order of the objects."""
    return tuple(
        ChangedField(pair, field, *place_of(change, _holder(pair, field), field.path))
        for pair in pairs
        for field in pair.fields
    )


def groups_by_cause(change: Change, pairs: tuple[Pair, ...]) -> list[CauseGroup]:
    """Returns the changed fields by the value of the spec, in the order of the files and lines."""
    fields = changed_fields(change, pairs)
    groups = grouped(fields, lambda changed: (changed.cause, changed.mark.file if changed.mark else ""))
    by_path = {changed.path: changed for changed in change.spec_changes}
    found = [
        CauseGroup(cause, group[0].mark, group[0].is_before, by_path.get(cause), tuple(group))
        for (cause, _), group in groups.items()
    ]
    return sorted(found, key=_order)


def _order(group: CauseGroup) -> tuple[bool, str, int, int, str]:
    mark = group.mark or Mark("", 0, 0)
    return (group.mark is None, mark.file, mark.line, mark.column, str(group.cause))


def _holder(pair: Pair, field: FieldChange) -> Manifest:
    """Returns the object that has the path of a field: before the change if the field is removed."""
    return pair.before if field.after is MISSING and pair.before else pair.manifest


def _place(document: Any, path: Path) -> str:
    text, node = "", document
    for step in path:
        node = dig(node, step)
        if isinstance(step, int):
            name = next((found for key in IDENTITIES if isinstance(found := dig(node, key), str)), step)
            text += f"[{name}]"
        else:
            text += f"[{step}]" if "." in step or "/" in step else f".{step}"
    return text.removeprefix(".")

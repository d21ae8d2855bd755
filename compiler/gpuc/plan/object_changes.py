"""The objects that change, field by field, by the value of the spec that causes the change."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from gpuc.diagnostics.finding import Mark, Path
from gpuc.plan.causes import place_of
from gpuc.plan.change import Change, Pair
from gpuc.plan.difference import MISSING, FieldChange

_NAMES = ("name", "key", "id", "type")


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
        documents = (self.pair.after, self.pair.before)
        document: Any = next(one.document() for one in documents if one is not None)
        return _place(document, self.field.path)


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
        groups: dict[int, list[ChangedField]] = {}
        for one in self.fields:
            groups.setdefault(id(one.pair), []).append(one)
        return tuple((group[0].pair, tuple(group)) for group in groups.values())


def changed_fields(change: Change, pairs: Iterable[Pair]) -> Iterator[ChangedField]:
    """Yields the fields that differ, in the order of the objects."""
    for pair in pairs:
        for field in pair.fields:
            manifest = pair.manifest
            if field.after is MISSING and pair.before is not None:
                manifest = pair.before
            yield ChangedField(pair, field, *place_of(change, manifest, field.path))


def groups_by_cause(change: Change, pairs: Iterable[Pair]) -> list[CauseGroup]:
    """Returns the changed fields by the value of the spec, in the order of the files and lines."""
    groups: dict[tuple[Path, str], list[ChangedField]] = {}
    for one in changed_fields(change, pairs):
        groups.setdefault((one.cause, one.mark.file if one.mark else ""), []).append(one)
    by_path = {changed.path: changed for changed in change.spec_changes}
    found = [
        CauseGroup(cause, fields[0].mark, fields[0].is_before, by_path.get(cause), tuple(fields))
        for (cause, _), fields in groups.items()
    ]
    return sorted(found, key=_order)


def _order(group: CauseGroup) -> tuple[bool, str, int, int, str]:
    mark = group.mark or Mark("", 0, 0)
    return (group.mark is None, mark.file, mark.line, mark.column, str(group.cause))


def _place(document: Any, path: Path) -> str:
    text, node = "", document
    for step in path:
        node = _child(node, step)
        name = next((node[key] for key in _NAMES if isinstance(node.get(key), str)), None) if _is_map(node) else None
        if isinstance(step, int):
            text += f"[{name if name is not None else step}]"
        else:
            text += f"[{step}]" if "." in step or "/" in step else f".{step}"
    return text.removeprefix(".")


def _child(node: Any, step: str | int) -> Any:
    if isinstance(node, dict):
        return node.get(step)
    return node[step] if isinstance(node, list) and isinstance(step, int) and step < len(node) else None


def _is_map(node: Any) -> bool:
    return isinstance(node, dict)

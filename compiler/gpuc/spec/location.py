"""Finds the path in a spec that each error of pydantic is about."""

from typing import Any

from msgspec import Struct
from pydantic import ValidationError

from gpuc.diagnostics.finding import Path

TOO_LONG = ("too_long", "string_too_long")
"""The types of Pydantic's errors about a length beyond its limit."""

_NO_DEFAULT = "default_factory_not_called"
"""The type of Pydantic's error about a default that depends on a field with another error."""


class Mistake(Struct, frozen=True):
    """An error that pydantic reports, with the path of the wrong value in the spec."""

    path: Path
    kind: str
    """The type of Pydantic's error, for example int_type."""
    value: Any
    """The wrong value, as the spec has it."""
    context: dict[str, Any]
    """The limits and words of the error."""


def mistakes_by_place(error: ValidationError, tree: Any) -> dict[tuple[Path, bool], list[Mistake]]:
    """Returns the errors of pydantic by their path, and by whether the key at the path is wrong instead of the value.

    Pydantic reports errors for each member of a union. If one member accepts a map or list apart from a value in it,
    the function leaves out the errors of the other members.
    """
    by_place: dict[tuple[Path, bool], list[Mistake]] = {}
    for details in error.errors(include_url=False):
        if details["type"] == _NO_DEFAULT:
            continue
        path, on_key = _path(details["loc"], tree)
        mistake = Mistake(path, details["type"], details["input"], details.get("ctx", {}))
        by_place.setdefault((path, on_key), []).append(mistake)
    inner = {path[:length] for path, _ in by_place for length in range(len(path))}
    return {place: mistakes for place, mistakes in by_place.items() if place[1] or place[0] not in inner}


def _path(location: tuple[int | str, ...], tree: Any) -> tuple[Path, bool]:
    """Returns the spec path of Pydantic's location, and whether the key at the path is wrong instead of the value.

    A location of Pydantic also contains names of union members and markers for keys, which are no steps of the path.
    """
    path: list[str | int] = []
    node: Any = tree
    on_key = "[key]" in location
    for index, step in enumerate(location):
        if _has_step(node, step):
            node = node[step]
            path.append(step)
        elif index == len(location) - 1 and isinstance(node, dict) and not _is_marker(str(step)):
            path.append(step)
    return tuple(path), on_key


def _has_step(node: Any, step: int | str) -> bool:
    if isinstance(node, list):
        return isinstance(step, int) and step < len(node)
    return isinstance(node, dict) and step in node


def _is_marker(step: str) -> bool:
    """Returns whether a step of Pydantic is the name of a union member, or a marker such as [key]."""
    return step[:1].isupper() or "[" in step or step in ("int", "str", "constrained-int", "constrained-str")

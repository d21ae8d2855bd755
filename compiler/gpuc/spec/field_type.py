"""Finds the Python type of a value in a pydantic model: of a field, or of an entry of a map or list."""

import types
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from gpuc.diagnostics.finding import Path


def type_at(path: Path, model: type[BaseModel]) -> Any:
    """Returns the type of the value at a path, with its constraints; Any if the model has no such path."""
    kind: Any = model
    for step in path:
        kind = _below(kind, step)
    return kind


def key_type(kind: Any) -> Any:
    """Returns the type of the keys of a map whose keys users choose, such as names of pools; else str."""
    maps = [member for member in members(kind) if get_origin(plain(member)) is dict]
    return get_args(plain(maps[0]))[0] if maps else str


def fields(kind: Any) -> dict[str, FieldInfo]:
    """Returns the fields of the model or models in a type, by key; an empty map if the type contains no model."""
    return {
        field.alias or name: field
        for member in map(plain, members(kind))
        if is_model(member)
        for name, field in member.model_fields.items()
    }


def field_type(field: FieldInfo) -> Any:
    """Returns the type of a model's field, as Annotated if the field has constraints."""
    return Annotated[field.annotation, *field.metadata] if field.metadata else field.annotation


def members(kind: Any) -> tuple[Any, ...]:
    """Returns the members of a union without None. For a type that is no union, returns the type itself."""
    unwrapped = plain(kind)
    if get_origin(unwrapped) in (Union, types.UnionType):
        return tuple(part for member in get_args(unwrapped) if member is not type(None) for part in members(member))
    return (kind,)


def plain(kind: Any) -> Any:
    """Returns the type that Annotated wraps: int for Annotated[int, Ge(1)]. Returns other types unchanged."""
    return plain(get_args(kind)[0]) if get_origin(kind) is Annotated else kind


def constraints(kind: Any) -> Iterator[Any]:
    """Yields the constraints of an Annotated type, such as Ge, MinLen and Form."""
    if get_origin(kind) is not Annotated:
        return
    inner, *metadata = get_args(kind)
    yield from constraints(inner)
    yield from flat(metadata)


def flat(metadata: Iterable[Any]) -> Iterator[Any]:
    """Yields the constraints in the metadata of an Annotated type. A Field() there can contain several constraints."""
    for entry in metadata:
        if isinstance(entry, FieldInfo):
            yield from entry.metadata
        else:
            yield entry


def is_model(kind: Any) -> bool:
    """Returns whether a type is a pydantic model. In the spec, a model is a map with known keys."""
    return isinstance(kind, type) and issubclass(kind, BaseModel)


def fits(kind: Any, value: Any) -> bool:
    """Returns whether pydantic accepts a value for a type."""
    return not mistakes_of(kind, value)


def mistakes_of(kind: Any, value: Any) -> set[str]:
    """Returns the types of pydantic's errors about a value, such as int_type; an empty set for a valid value."""
    try:
        _adapter(kind).validate_python(value, strict=True)
    except ValidationError as error:
        return {details["type"] for details in error.errors(include_url=False, include_context=False)}
    return set()


@lru_cache(maxsize=256)
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def _below(kind: Any, step: str | int) -> Any:
    if isinstance(step, str) and (known := fields(kind)):
        return field_type(known[step]) if step in known else Any
    for member in map(plain, members(kind)):
        if get_origin(member) is (list if isinstance(step, int) else dict):
            return get_args(member)[-1]
    return Any

"""Validates documents with JSON Schemas. The package jsonschema-rs validates, and jsonschema explains the errors.

jsonschema-rs is fast and supports the regular expressions of Go. jsonschema reports the failing subschema of every
error, and the most relevant error if a schema has alternatives. Only documents with errors need jsonschema.
"""

import json
from collections.abc import Iterator
from enum import Enum
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from gpuc.catalog.schemas.structural import Schema
from gpuc.diagnostics.finding import Path
from gpuc.diagnostics.place import place
from gpuc.diagnostics.spelling import nearest
from gpuc.kubernetes.quantity import canonical_quantity, is_canonical_quantity

if TYPE_CHECKING:
    from jsonschema_rs import Draft202012Validator, ValidationError


class ErrorKind(Enum):
    """The kinds of violations of a schema, for example an unknown field."""

    UNKNOWN = "unknown field"
    VALUE = "wrong value"
    MISSING = "missing field"
    QUANTITY = "quantity not in its canonical form"


class SchemaError(Struct, frozen=True):
    """A value in a document that violates the schema."""

    kind: ErrorKind
    path: Path
    """The path in the document, for example ("spec", "taints", 0, "effect")."""
    message: str
    """The description of the error, without the path."""
    fix: str = ""
    """The correct value; empty if the correct value is not certain."""

    def under(self, *path: str | int) -> "SchemaError":
        """Returns the error with a longer path, for a document that contains the validated document at `path`."""
        return replace(self, path=(*path, *self.path))


def validator(schema: Schema) -> "Draft202012Validator":
    """Returns a compiled validator, which also checks the form of quantities, and that list items have unique keys."""
    from jsonschema_rs import Draft202012Validator

    return Draft202012Validator(
        schema,
        validate_formats=True,
        formats={"quantity": is_canonical_quantity},
        keywords={"x-kubernetes-list-map-keys": _MapKeys},
    )


def schema_errors(compiled: "Draft202012Validator", document: Any, schema: Schema) -> Iterator[SchemaError]:
    """Yields all violations of the schema in a document, sorted by path.

    Args:
        compiled: the validator of the schema.
        schema: the schema, for the explanations of errors.
    """
    if compiled.is_valid(document):
        return
    errors = {item for error in compiled.iter_errors(document) for item in _explained(error, schema)}
    yield from sorted(errors, key=lambda item: (place(item.path), item.message))


class _MapKeys:
    """The keyword x-kubernetes-list-map-keys for jsonschema-rs."""

    def __init__(self, parent_schema: dict[str, Any], value: Any, schema_path: list[str | int]) -> None:
        self._schema, self._keys = parent_schema, value

    def validate(self, instance: Any) -> None:
        """Checks that all items of a list have different keys.

        Raises:
            ValueError: when two items have the same key. The message names the key.
        """
        for problem in _repeated_keys(self._keys, instance, self._schema):
            raise ValueError(problem)


def _repeated_keys(keys: list[str], instance: Any, schema: Schema) -> Iterator[str]:
    """Yields a message for every item of a list map that repeats the key of an earlier item.

    A key field that an item lacks has the default of the schema.
    """
    properties = schema.get("items", {}).get("properties", {})
    defaults = {name: properties.get(name, {}).get("default") for name in keys}
    keys_of_items = set()
    for item in instance if isinstance(instance, list) else ():
        if isinstance(item, dict):
            key = tuple(str(item.get(name, defaults[name])) for name in keys)
            if key in keys_of_items:
                yield f"two items have the same {', '.join(keys)}: {', '.join(key)}"
            keys_of_items.add(key)


def _explained(error: "ValidationError", schema: Schema) -> Iterator[SchemaError]:
    """Yields the errors of jsonschema for the value and the subschema of one error of jsonschema-rs."""
    path: Path = tuple(error.instance_path)
    if error.kind.name == "format" and error.kind.format == "quantity":  # type: ignore[attr-defined]
        yield _quantity(path, str(error.instance))
        return
    from jsonschema.exceptions import best_match

    part = _subschema(schema, list(error.schema_path[:-1]))
    errors = _jsonschema_validator()({**part, "$defs": schema.get("$defs", {})}).iter_errors(error.instance)
    # jsonschema-rs reports the errors of nested values separately.
    own_errors = [best_match([inner]) for inner in errors if not inner.path]
    explained = [item.under(*path) for inner in own_errors for item in _converted(inner)]
    yield from explained or [SchemaError(ErrorKind.VALUE, path, _short(error.message, 300))]


def _subschema(schema: Schema, schema_path: list[str | int]) -> Any:
    """Returns the subschema at a path of a schema, following references."""
    part: Any = schema
    for step in schema_path:
        part = schema["$defs"][part["$ref"].rpartition("/")[2]] if step == "$ref" else part[step]
    return part


@cache
def _jsonschema_validator() -> Any:
    """Returns the validator class of jsonschema, with the patterns, formats and keywords of jsonschema-rs."""
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import ValidationError
    from jsonschema.validators import extend

    def pattern(_: Any, value: str, instance: Any, __: Schema) -> Iterator[Any]:
        if not _keyword_validator("pattern", value).is_valid(instance):
            yield ValidationError(f"{instance!r} does not match {value!r}")

    def text_format(_: Any, value: str, instance: Any, __: Schema) -> Iterator[Any]:
        if not _keyword_validator("format", value).is_valid(instance):
            yield ValidationError(f"{instance!r} is not a {value!r}")

    def map_keys(_: Any, keys: list[str], instance: Any, schema: Schema) -> Iterator[Any]:
        yield from map(ValidationError, _repeated_keys(keys, instance, schema))

    return extend(
        Draft202012Validator, {"pattern": pattern, "format": text_format, "x-kubernetes-list-map-keys": map_keys}
    )


@lru_cache(maxsize=1024)
def _keyword_validator(keyword: str, value: str) -> "Draft202012Validator":
    return validator({keyword: value})


def _converted(error: Any) -> Iterator[SchemaError]:
    """Yields the errors that an error of jsonschema describes."""
    path: Path = tuple(error.absolute_path)
    if error.validator == "additionalProperties" and error.validator_value is False:
        fields = error.schema.get("properties", {})
        known = sorted(fields)
        for name in sorted(set(error.instance) - set(known)):
            suggestion = nearest(name, known)
            hint = f', did you mean "{suggestion}"' if suggestion else f"; known: {', '.join(known) or 'none'}"
            owners = [key for key, field in fields.items() if name in field.get("properties", ())]
            hint = f", it is a field of {owners[0]}" if len(owners) == 1 else hint
            yield SchemaError(ErrorKind.UNKNOWN, (*path, name), f"unknown field{hint}")
    elif error.validator == "required":
        for name in error.validator_value:
            if name not in error.instance:
                yield SchemaError(ErrorKind.MISSING, (*path, name), "this required field is missing")
    else:
        shown = _short(json.dumps(error.instance, ensure_ascii=False, default=str), 100)
        yield SchemaError(ErrorKind.VALUE, path, _short(error.message.replace(repr(error.instance), shown, 1), 300))


def _quantity(path: Path, text: str) -> SchemaError:
    try:
        canonical = canonical_quantity(text)
    except ValueError as error:
        return SchemaError(ErrorKind.VALUE, path, str(error))
    return SchemaError(ErrorKind.QUANTITY, path, f'quantity "{text}" is stored as "{canonical}"', f'"{canonical}"')


def _short(text: str, length_max: int) -> str:
    return text if len(text) <= length_max else f"{text[:length_max]}..."

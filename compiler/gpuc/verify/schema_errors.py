"""What a schema refuses, in the words of a finding: jsonschema-rs decides, jsonschema explains.

jsonschema-rs is fast and reads the patterns of Go. jsonschema has the failing part of the schema beside each error, and
of alternatives the one that fits best; it is loaded for a refusal only.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from gpuc.catalog.schemas.structural import Schema
from gpuc.diagnostics.finding import Path
from gpuc.diagnostics.spelling import nearest
from gpuc.kubernetes.quantity import canonical_quantity, is_canonical_quantity
from gpuc.objects.object_finding import place

if TYPE_CHECKING:
    from jsonschema_rs import Draft202012Validator, ValidationError


class ErrorKind(Enum):
    """In which way a value does not fit its schema."""

    UNKNOWN = "unknown field"
    VALUE = "wrong value"
    MISSING = "missing field"
    QUANTITY = "quantity not in its canonical form"


@dataclass(frozen=True, slots=True)
class SchemaError:
    """One place of a document that its schema refuses."""

    kind: ErrorKind
    path: Path
    """From the document's root: ("spec", "taints", 0, "effect")."""
    message: str
    """What is wrong there, without the place."""
    fix: str = ""

    def under(self, *path: str | int) -> SchemaError:
        """The same in a document of which this one is the part at a path."""
        return replace(self, path=(*path, *self.path))


def validator(schema: Schema) -> Draft202012Validator:
    """A compiled validator that also knows quantities and the keys of Kubernetes' map lists."""
    from jsonschema_rs import Draft202012Validator

    return Draft202012Validator(
        schema,
        validate_formats=True,
        formats={"quantity": is_canonical_quantity},
        keywords={"x-kubernetes-list-map-keys": _MapKeys},
    )


def schema_errors(compiled: Draft202012Validator, document: Any, schema: Schema) -> Iterator[SchemaError]:
    """Every place that the schema refuses, in the order of the document's paths.

    Args:
        compiled: the validator of the schema.
    """
    if compiled.is_valid(document):
        return
    found = {item for error in compiled.iter_errors(document) for item in _explained(error, schema)}
    yield from sorted(found, key=lambda item: (place(item.path), item.message))


class _MapKeys:
    """Keyword x-kubernetes-list-map-keys for jsonschema-rs."""

    def __init__(self, parent_schema: dict[str, Any], value: Any, schema_path: list[str | int]) -> None:
        self._schema, self._keys = parent_schema, value

    def validate(self, instance: Any) -> None:
        """Refuses a second item with the same key.

        Raises:
            ValueError: with the key that two items have.
        """
        for problem in _doubled(self._keys, instance, self._schema):
            raise ValueError(problem)


def _doubled(keys: list[str], instance: Any, schema: Schema) -> Iterator[str]:
    """Every key of a map list that an item before has too; a field that is left out has its default."""
    properties = schema.get("items", {}).get("properties", {})
    defaults = {name: properties.get(name, {}).get("default") for name in keys}
    before = set()
    for item in instance if isinstance(instance, list) else ():
        if isinstance(item, dict):
            key = tuple(str(item.get(name, defaults[name])) for name in keys)
            if key in before:
                yield f"two items have the same {', '.join(keys)}: {', '.join(key)}"
            before.add(key)


def _explained(error: ValidationError, schema: Schema) -> Iterator[SchemaError]:
    """What jsonschema has to say of the value and the part of the schema at an error of jsonschema-rs."""
    path: Path = tuple(error.instance_path)
    if error.kind.name == "format" and error.kind.format == "quantity":  # type: ignore[attr-defined]
        yield _quantity(path, str(error.instance))
        return
    from jsonschema.exceptions import best_match

    part = _part(schema, list(error.schema_path[:-1]))
    errors = _explaining()({**part, "$defs": schema.get("$defs", {})}).iter_errors(error.instance)
    here = [best_match([inner]) for inner in errors if not inner.path]  # what is below has an error of its own
    found = [item.under(*path) for inner in here for item in _read(inner)]
    yield from found or [SchemaError(ErrorKind.VALUE, path, _short(error.message, 300))]


def _part(schema: Schema, schema_path: list[str | int]) -> Any:
    """The part of a schema at a path; references on the way are followed."""
    part: Any = schema
    for step in schema_path:
        part = schema["$defs"][part["$ref"].rpartition("/")[2]] if step == "$ref" else part[step]
    return part


@cache
def _explaining() -> Any:
    """The validator of jsonschema; patterns and formats are those of jsonschema-rs, and the same keywords are known."""
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import ValidationError
    from jsonschema.validators import extend

    def pattern(_: Any, value: str, instance: Any, __: Schema) -> Iterator[Any]:
        if not _alone("pattern", value).is_valid(instance):
            yield ValidationError(f"{instance!r} does not match {value!r}")

    def form(_: Any, value: str, instance: Any, __: Schema) -> Iterator[Any]:
        if not _alone("format", value).is_valid(instance):
            yield ValidationError(f"{instance!r} is not a {value!r}")

    def map_keys(_: Any, keys: list[str], instance: Any, schema: Schema) -> Iterator[Any]:
        yield from map(ValidationError, _doubled(keys, instance, schema))

    return extend(Draft202012Validator, {"pattern": pattern, "format": form, "x-kubernetes-list-map-keys": map_keys})


@lru_cache(maxsize=1024)
def _alone(keyword: str, value: str) -> Draft202012Validator:
    return validator({keyword: value})


def _read(error: Any) -> Iterator[SchemaError]:
    """The finding of an error of jsonschema."""
    path: Path = tuple(error.absolute_path)
    if error.validator == "additionalProperties" and error.validator_value is False:
        known = sorted(error.schema.get("properties", {}))
        for name in sorted(set(error.instance) - set(known)):
            near = nearest(name, known)
            hint = f', did you mean "{near}"' if near else f"; known: {', '.join(known) or 'none'}"
            yield SchemaError(ErrorKind.UNKNOWN, (*path, name), f"unknown field{hint}")
    elif error.validator == "required":
        for name in error.validator_value:
            if name not in error.instance:
                yield SchemaError(ErrorKind.MISSING, (*path, name), "required, and missing")
    else:
        shown = _short(json.dumps(error.instance, ensure_ascii=False, default=str), 100)
        yield SchemaError(ErrorKind.VALUE, path, _short(error.message.replace(repr(error.instance), shown, 1), 300))


def _quantity(where: Path, text: str) -> SchemaError:
    try:
        canonical = canonical_quantity(text)
    except ValueError as error:
        return SchemaError(ErrorKind.VALUE, where, str(error))
    return SchemaError(ErrorKind.QUANTITY, where, f'quantity "{text}" is stored as "{canonical}"', f'"{canonical}"')


def _short(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[:longest]}..."

"""What a JSON Schema validator refuses, in the words of a finding."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING, Any

from gpuc.catalog.schemas.structural import Schema
from gpuc.diagnostics.finding import Path
from gpuc.diagnostics.spelling import nearest
from gpuc.kubernetes.canonical import canonical_quantity, is_canonical_quantity
from gpuc.objects.flaw import place

if TYPE_CHECKING:
    from jsonschema_rs import Draft202012Validator, ValidationError


class Fit(Enum):
    """In which way a value does not fit its schema."""

    UNKNOWN = "unknown field"
    VALUE = "wrong value"
    MISSING = "missing field"
    QUANTITY = "quantity not in its canonical form"


@dataclass(frozen=True, slots=True)
class Mismatch:
    """One place of a document that its schema refuses."""

    fit: Fit
    path: Path
    """From the document's root: ("spec", "taints", 0, "effect")."""
    message: str
    """What is wrong there, without the place."""
    fix: str = ""

    def under(self, *path: str | int) -> Mismatch:
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


def mismatches(compiled: Draft202012Validator, document: Any, schema: Schema) -> Iterator[Mismatch]:
    """Every place that the schema refuses, in the order of the document's paths."""
    if compiled.is_valid(document):
        return
    found = [item for error in compiled.iter_errors(document) for item in _read(error, schema)]
    yield from sorted(set(found), key=lambda item: (place(item.path), item.message))


class _MapKeys:
    """Keyword x-kubernetes-list-map-keys: no two items of a list have the same key."""

    def __init__(self, parent_schema: dict[str, Any], value: Any, schema_path: list[str | int]) -> None:
        self._keys: list[str] = value
        properties = parent_schema.get("items", {}).get("properties", {})
        self._defaults = {key: properties.get(key, {}).get("default") for key in value}

    def validate(self, instance: Any) -> None:
        """Refuses a second item with the same key.

        Raises:
            ValueError: with the key that stands twice.
        """
        seen = set()
        for item in instance if isinstance(instance, list) else ():
            if isinstance(item, dict):
                key = tuple(str(item.get(name, self._defaults[name])) for name in self._keys)
                if key in seen:
                    raise ValueError(f"two items have the same {', '.join(self._keys)}: {', '.join(key)}")
                seen.add(key)


def _read(error: ValidationError, schema: Schema) -> Iterator[Mismatch]:
    path: Path = tuple(error.instance_path)
    keyword = error.kind.name
    if keyword in {"additionalProperties", "unevaluatedProperties"}:
        unexpected: list[str] = error.kind.unexpected  # type: ignore[attr-defined]
        known = _names_at(schema, list(error.schema_path))
        for name in unexpected:
            near = nearest(name, known)
            hint = f', did you mean "{near}"' if near else f"; known: {', '.join(known) or 'none'}"
            yield Mismatch(Fit.UNKNOWN, (*path, name), f"unknown field{hint}")
    elif keyword == "required":
        name = error.kind.property  # type: ignore[attr-defined]
        yield Mismatch(Fit.MISSING, (*path, name), "required, and missing")
    elif keyword == "format" and error.kind.format == "quantity":  # type: ignore[attr-defined]
        yield _quantity(path, str(error.instance))
    else:
        yield Mismatch(Fit.VALUE, path, _short(error.message))


def _quantity(where: Path, text: str) -> Mismatch:
    try:
        canonical = canonical_quantity(text)
    except ValueError as error:
        return Mismatch(Fit.VALUE, where, str(error))
    return Mismatch(Fit.QUANTITY, where, f'quantity "{text}" is stored as "{canonical}"', f'"{canonical}"')


def _names_at(schema: Schema, schema_path: list[str | int]) -> list[str]:
    """The property names beside the keyword that failed; references on the way are followed."""
    part: Any = schema
    for step in schema_path[:-1]:
        part = schema["$defs"][part["$ref"].rpartition("/")[2]] if step == "$ref" else part[step]
    return sorted(part.get("properties", {}))


def _short(message: str) -> str:
    return message if len(message) <= 300 else f"{message[:300]}..."

"""Documents that a schema accepts, and the same documents with one mistake."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from gpuc.catalog.schemas.schema_errors import ErrorKind, validator
from gpuc.diagnostics.place import place

_CANDIDATES = (
    "a", "A", "abort", "1", "0", "1Gi", "10s", "1m", "1h", "10m0s", "5%", "0 0 * * *", "a.b/c",
    "a/b", "ami-0123456789abcdef0",
    "al2023@v20260101", "subnet-0123456789", "sg-0123456789abcdef0", "cr-0123456789", "cr-0123456789abcdef0",
    "lt-0123456789", "123456789012", "2020-01-01T00:00:00Z", "id-0", "Aa", "example.com/a", "key", "https://a.b",
    "pg-01234567890abcdef", "snap-0123456789", "cd-0123456789", "+1", "/a", "a@b", "10.0.0.0/8", "AB",
    "arn:aws:kms:us-east-1:123456789012:key/a", "aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa", "a.b.c/d", "08:00", "monday",
    "2026",
)  # fmt: skip
_WRONG_TYPES: dict[str, Any] = {
    "string": 7, "integer": "seven", "number": "seven", "boolean": "true", "array": "a", "object": "a",
}  # fmt: skip


@dataclass(frozen=True)
class Mistake:
    """A document with one mistake, and the expected error."""

    kind: ErrorKind
    place: str
    document: Any


@dataclass
class Sampler:
    """Builds documents of a schema. Shared definitions have every field only the first time."""

    definitions: dict[str, Any]
    seen: set[str] = field(default_factory=set)
    missed: list[str] = field(default_factory=list)

    def full(self, schema: dict[str, Any]) -> Any:
        """A document that has every field."""
        schema, fresh = self._resolved(schema)
        return self._object(schema, full=fresh) if schema.get("type") == "object" else self._value(schema, fresh)

    def _resolved(self, schema: dict[str, Any]) -> tuple[dict[str, Any], bool]:
        name = schema.get("$ref", "").rpartition("/")[2]
        if not name:
            return schema, True
        fresh = name not in self.seen
        self.seen.add(name)
        return self.definitions[name], fresh

    def _object(self, schema: dict[str, Any], *, full: bool) -> Any:
        branches = [schema[key][0] for key in ("oneOf", "anyOf") if schema.get(key)]
        required = {name for part in (schema, *branches) for name in part.get("required", ())}
        alternatives = [name for branch in schema.get("oneOf", ()) for name in branch.get("required", ())]
        chosen = {
            name: child
            for name, child in schema.get("properties", {}).items()
            if (full or name in required) and name not in alternatives[1:]
        }
        made = {name: self.full(child) for name, child in chosen.items()}
        extra = schema.get("additionalProperties")
        if isinstance(extra, dict) and (full or schema.get("minProperties")):
            made["key"] = self.full(extra)
        return made

    def _value(self, schema: dict[str, Any], full: bool) -> Any:
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return next((value for value in schema["enum"] if value), schema["enum"][0])
        kind = schema.get("type", "")
        if kind == "array":
            count = min(max(schema.get("minItems", 0), 1 if full else 0), schema.get("maxItems", 1))
            return [self.full(schema["items"]) for _ in range(count)] if "items" in schema else []
        if kind == "boolean":
            return True
        if kind in ("integer", "number"):
            return max(schema.get("minimum", 1), min(1, schema.get("maximum", 1)))
        return self._text(schema) if kind else {}

    def _text(self, schema: dict[str, Any]) -> str:
        checker = validator({**schema, "type": "string"})
        for text in (*_CANDIDATES, "a" * schema.get("minLength", 1)):
            if checker.is_valid(text):
                return text
        self.missed.append(str(schema))
        return "a"


def mistakes(schema: dict[str, Any], document: Any, definitions: dict[str, Any], seen: set[str]) -> Iterator[Mistake]:
    """Every document with one mistake at one place. The document is changed in place and restored after every mistake.

    Args:
        seen: definitions that were tested before; they get no mistakes again.
    """
    return _in(schema, document, [], document, definitions, seen)


def _in(
    schema: dict[str, Any], value: Any, path: list[str | int], root: Any, definitions: dict[str, Any], seen: set[str]
) -> Iterator[Mistake]:
    name = schema.get("$ref", "").rpartition("/")[2]
    if name:
        if name in seen:
            return
        seen.add(name)
        schema = definitions[name]
    if isinstance(value, dict) and schema.get("type") == "object":
        yield from _fields(schema, value, path, root)
        children = {**{key: schema.get("additionalProperties") for key in value}, **schema.get("properties", {})}
        for key in list(value):
            if isinstance(children[key], dict):
                yield from _swapped(children[key], value, key, path, root, definitions)
                yield from _in(children[key], value[key], [*path, key], root, definitions, seen)
    elif isinstance(value, list) and value and "items" in schema:
        yield from _swapped(schema["items"], value, 0, path, root, definitions)
        yield from _in(schema["items"], value[0], [*path, 0], root, definitions, seen)


def _fields(schema: dict[str, Any], value: dict[str, Any], path: list[str | int], root: Any) -> Iterator[Mistake]:
    if schema.get("additionalProperties") is False:
        for name in list(schema.get("properties", {})):
            wrong = f"{name}x"
            value[wrong] = "a"
            yield Mistake(ErrorKind.UNKNOWN, place([*path, wrong]), root)
            del value[wrong]
    for name in schema.get("required", ()):
        kept = value.pop(name)
        yield Mistake(ErrorKind.MISSING, place([*path, name]), root)
        value[name] = kept


def _swapped(
    schema: dict[str, Any], owner: Any, key: str | int, path: list[str | int], root: Any, definitions: dict[str, Any]
) -> Iterator[Mistake]:
    schema = definitions[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
    kept = owner[key]
    for wrong in _wrong(schema):
        owner[key] = wrong
        yield Mistake(ErrorKind.VALUE, place([*path, key]), root)
    owner[key] = kept


def _wrong(schema: dict[str, Any]) -> Iterator[Any]:
    kind = schema.get("type")
    if isinstance(kind, list):
        yield ["neither"]
    elif kind:
        yield _WRONG_TYPES[kind]
        yield None
    if "enum" in schema or "const" in schema:
        yield "NoSuchWord"
    if schema.get("format") == "quantity":
        yield "many"
    if "minimum" in schema:
        yield schema["minimum"] - 1
    if "maximum" in schema:
        yield schema["maximum"] + 1
    if "maxLength" in schema:
        yield "a" * (schema["maxLength"] + 1)

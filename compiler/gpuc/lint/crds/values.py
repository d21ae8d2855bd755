"""Objects of custom kinds as their CEL rules see them: defaults set, names escaped, texts of some formats as values.

Source: k8s.io/apiserver v0.35 pkg/cel/common (valuesunstructured.go), k8s.io/apiextensions-apiserver v0.35
pkg/apiserver/schema/defaulting (algorithm.go)
"""

from __future__ import annotations

from base64 import b64decode
from copy import deepcopy
from functools import cache
from typing import Any

from gpuc.catalog.schemas.structural import Schema
from gpuc.cel.program import Program, Value, compiled

_KEYWORDS = frozenset(
    (
        "true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function", "if", "import",
        "let", "loop", "package", "namespace", "return", "var", "void", "while",
    )
)  # fmt: skip
_RESERVED = _KEYWORDS - {"true", "false", "null", "in"}
"""Words that the grammar of CEL takes for the name of a field."""
_ESCAPES = (("__", "__underscores__"), (".", "__dot__"), ("-", "__dash__"), ("/", "__slash__"))
FORMATS = frozenset(("byte", "date", "date-time", "duration"))
"""Formats of texts that rules do not see as text."""
_READ_BY = {"date": ("timestamp", "T00:00:00Z"), "date-time": ("timestamp", ""), "duration": ("duration", "")}
"""The function of CEL that reads a text of a format, and what has to follow the text."""


def as_rules_see(body: Any, schema: Schema, shapes: Schema) -> Any:
    """A copy of an object's body for rules.

    Args:
        schema: of the body, strict, references in it are followed.
        shapes: tree of places (properties, items, additionalProperties) that have a format of FORMATS.

    Raises:
        ValueError: for a text whose value is not known exactly; the text says which one.
    """
    return _as_cel(_defaulted(body, schema, schema), schema, schema, shapes)


@cache
def escaped(name: str) -> str:
    """The name of a field in CEL: "a-b" is a__dash__b.

    Source: k8s.io/apiserver v0.35 pkg/cel/escaping.go
    """
    if name in _KEYWORDS:
        return f"__{name}__"
    for text, escape in _ESCAPES:
        name = name.replace(text, escape)
    return name


def _defaulted(value: Any, schema: Any, root: Schema) -> Any:
    """A copy of a value with the defaults of its schema, as the API server sets them before it validates."""
    schema = _resolved(schema, root)
    if isinstance(value, dict):
        known, others = schema.get("properties", {}), schema.get("additionalProperties")
        made = {key: _defaulted(child, known.get(key, others), root) for key, child in value.items()}
        for name, child in known.items():
            if name not in made and (default := _resolved(child, root).get("default")) is not None:
                made[name] = _defaulted(deepcopy(default), child, root)
        return made
    if isinstance(value, list):
        return [_defaulted(child, schema.get("items"), root) for child in value]
    return value


def _as_cel(value: Any, schema: Any, root: Schema, shapes: Schema) -> Any:
    schema = _resolved(schema, root)
    if isinstance(value, dict):
        known, others = schema.get("properties", {}), schema.get("additionalProperties")
        named, rest = shapes.get("properties", {}), shapes.get("additionalProperties", {})
        made = {}
        for key, child in value.items():
            seen = _as_cel(child, known.get(key, others), root, named.get(key, rest))
            for name in _names(key) if key in known else (key,):
                made[name] = seen
        return made
    if isinstance(value, list):
        return [_as_cel(child, schema.get("items"), root, shapes.get("items", {})) for child in value]
    if isinstance(value, str) and "format" in shapes:
        return _timed(value, shapes["format"])
    if schema.get("type") == "number" and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    return value


@cache
def _names(field: str) -> tuple[str, ...]:
    """What a rule may call a field: one that CEL reserves has both of its names, since Kubernetes 1.31."""
    return (escaped(field), field) if field in _RESERVED else (escaped(field),)


def _timed(text: str, form: str) -> Any:
    """What a text of a format is to a rule. The engine takes no points and spans of time: equal ones are equal maps.

    Raises:
        ValueError: for a text whose value is not known exactly.
    """
    if form == "byte":
        return b64decode(text, validate=True)
    function, end = _READ_BY[form]
    program = compiled(f"string({function}(self))", ("self",))
    assert isinstance(program, Program)
    read = program.evaluate({"self": text + end})
    if not isinstance(read, Value):
        raise ValueError(f'the {form} "{text}" is written in a way that is not read here')
    return {function: read.value}


def _resolved(schema: Any, root: Schema) -> Schema:
    while isinstance(schema, dict) and "$ref" in schema:
        schema = root["$defs"][schema["$ref"].rpartition("/")[2]]
    return schema if isinstance(schema, dict) else {}

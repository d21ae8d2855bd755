"""Objects of custom kinds as their CEL rules see them: defaults set, names escaped, texts of some formats as values.

Source: k8s.io/apiserver v0.35 pkg/cel/common (valuesunstructured.go), k8s.io/apiextensions-apiserver v0.35
pkg/apiserver/schema/defaulting (algorithm.go)
"""

from __future__ import annotations

import re
from base64 import b64decode
from copy import deepcopy
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from functools import cache
from typing import Any

from gpuc.catalog.schemas.structural import Schema

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
_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_TIME = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d{1,6})?([Zz]|[+-]\d\d:\d\d)", re.ASCII)
_DURATION = re.compile(r"-?(\d+(\.\d+)?(h|m|s|ms|us|µs|ns))+", re.ASCII)
_PART = re.compile(r"(\d+(?:\.\d+)?)(h|ms|m|s|us|µs|ns)", re.ASCII)
_MICROSECONDS: dict[str, int | Fraction] = {
    "h": 3_600_000_000, "m": 60_000_000, "s": 1_000_000, "ms": 1000, "us": 1, "µs": 1, "ns": Fraction(1, 1000),
}  # fmt: skip


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
    """What a text of a format is to a rule.

    Raises:
        ValueError: for a text whose value is not known exactly.
    """
    if form == "byte":
        return b64decode(text, validate=True)
    if form == "date" and _DATE.fullmatch(text):
        return datetime.fromisoformat(text).replace(tzinfo=UTC)
    if form == "date-time" and _TIME.fullmatch(text):
        return datetime.fromisoformat(text.upper())
    if form == "duration" and _DURATION.fullmatch(text):
        exact = sum(Fraction(number) * _MICROSECONDS[unit] for number, unit in _PART.findall(text))
        if exact.denominator == 1:
            return timedelta(microseconds=int(-exact if text.startswith("-") else exact))
    raise ValueError(f'the {form} "{text}" is written in a way that is not read here')


def _resolved(schema: Any, root: Schema) -> Schema:
    while isinstance(schema, dict) and "$ref" in schema:
        schema = root["$defs"][schema["$ref"].rpartition("/")[2]]
    return schema if isinstance(schema, dict) else {}

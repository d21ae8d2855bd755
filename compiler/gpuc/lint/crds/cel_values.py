"""Converts objects of custom kinds to values for CEL rules: with defaults, escaped names, timestamps and durations.

Source: k8s.io/apiserver v0.35 pkg/cel/common (valuesunstructured.go), k8s.io/apiextensions-apiserver v0.35
pkg/apiserver/schema/defaulting (algorithm.go)
"""

from base64 import b64decode
from copy import deepcopy
from functools import cache
from typing import Any

from gpuc.catalog.schemas.structural import Schema
from gpuc.cel.program import Program, Value, compiled
from gpuc.policy.policy_file import KEYWORDS

_RESERVED = KEYWORDS - {"true", "false", "null", "in"}
"""Reserved words that the grammar of CEL accepts as the name of a field."""
_ESCAPES = (("__", "__underscores__"), (".", "__dot__"), ("-", "__dash__"), ("/", "__slash__"))
FORMATS = frozenset(("byte", "date", "date-time", "duration"))
"""Formats of strings that are bytes, timestamps or durations in CEL."""
_CONVERSIONS = {"date": ("timestamp", "T00:00:00Z"), "date-time": ("timestamp", ""), "duration": ("duration", "")}
"""The CEL function that converts a string of a format, and the suffix that the string needs."""


def cel_value(body: Any, schema: Schema, formats: Schema) -> Any:
    """Returns a copy of an object's body as a value for CEL.

    Args:
        schema: the strict schema of the body, which may contain `$ref`.
        formats: the formats in FORMATS, in a tree with the keys format, properties, items and additionalProperties.

    Raises:
        ValueError: for a string that cannot be converted exactly. The message quotes the string.
    """
    return _as_cel(_defaulted(body, schema, schema), schema, schema, formats)


@cache
def escaped(name: str) -> str:
    """Returns the name of a field in CEL: "a-b" is a__dash__b.

    Source: k8s.io/apiserver v0.35 pkg/cel/escaping.go
    """
    if name in KEYWORDS:
        return f"__{name}__"
    for text, escape in _ESCAPES:
        name = name.replace(text, escape)
    return name


def _defaulted(value: Any, schema: Any, root: Schema) -> Any:
    """Returns a copy of a value with the defaults of its schema, which the API server sets before validation."""
    schema = _resolved(schema, root)
    if isinstance(value, dict):
        known, others = schema.get("properties", {}), schema.get("additionalProperties")
        result = {key: _defaulted(child, known.get(key, others), root) for key, child in value.items()}
        for name, child in known.items():
            if name not in result and (default := _resolved(child, root).get("default")) is not None:
                result[name] = _defaulted(deepcopy(default), child, root)
        return result
    if isinstance(value, list):
        return [_defaulted(child, schema.get("items"), root) for child in value]
    return value


def _as_cel(value: Any, schema: Any, root: Schema, formats: Schema) -> Any:
    schema = _resolved(schema, root)
    if isinstance(value, dict):
        known, others = schema.get("properties", {}), schema.get("additionalProperties")
        known_formats, other_format = formats.get("properties", {}), formats.get("additionalProperties", {})
        result = {}
        for key, child in value.items():
            converted = _as_cel(child, known.get(key, others), root, known_formats.get(key, other_format))
            result[escaped(key) if key in known else key] = converted
            if key in _RESERVED:  # since Kubernetes 1.31, a reserved word is valid escaped and unescaped
                result[key] = converted
        return result
    if isinstance(value, list):
        return [_as_cel(child, schema.get("items"), root, formats.get("items", {})) for child in value]
    if isinstance(value, str) and "format" in formats:
        return _converted(value, formats["format"])
    if schema.get("type") == "number" and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    return value


def _converted(text: str, text_format: str) -> Any:
    """Returns the CEL value of a string that has a format.

    A timestamp or duration becomes a map, because the CEL engine accepts neither as input.

    Raises:
        ValueError: for a string that cannot be converted exactly.
    """
    if text_format == "byte":
        return b64decode(text, validate=True)
    function, suffix = _CONVERSIONS[text_format]
    program = compiled(f"string({function}(self))", ("self",))
    assert isinstance(program, Program)
    result = program.evaluate({"self": text + suffix})
    if not isinstance(result, Value):
        raise ValueError(f'gpuc cannot convert the {text_format} "{text}"')
    return {function: result.value}


def _resolved(schema: Any, root: Schema) -> Schema:
    while isinstance(schema, dict) and "$ref" in schema:
        schema = root["$defs"][schema["$ref"].rpartition("/")[2]]
    return schema if isinstance(schema, dict) else {}

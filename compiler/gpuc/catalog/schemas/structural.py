"""Converts structural OpenAPI v3 schemas to strict JSON Schemas."""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]

_KEYWORDS = (
    "type", "format", "enum", "pattern", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum",
    "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "required", "default",
    "propertyNames", "x-kubernetes-embedded-resource", "x-kubernetes-list-map-keys",
    "x-kubernetes-preserve-unknown-fields",
)  # fmt: skip
_QUANTITY = r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?"
"""The start of the pattern that controller-gen writes for resource.Quantity."""


def strict(schema: Schema) -> Schema:
    """Returns the schema without descriptions and CEL rules, and with unknown fields as errors.

    Unknown fields are allowed only where the API server keeps unknown fields. A quantity becomes a string of format
    `quantity`, int-or-string becomes both types, int32 gets its minimum and maximum, and a list of type `set` gets
    unique items.
    """
    if schema.get("pattern", "").startswith(_QUANTITY):
        return {"type": "string", "format": "quantity"}
    result = {key: schema[key] for key in _KEYWORDS if key in schema}
    _type(schema, result)
    if "properties" in schema:
        result["properties"] = {name: strict(child) for name, child in schema["properties"].items()}
    if "items" in schema:
        result["items"] = strict(schema["items"])
    for word in ("allOf", "anyOf", "oneOf"):
        if word in schema and isinstance(result.get("type", ""), str):
            result[word] = [_alternative(part) for part in schema[word]]
    if "not" in schema:
        result["not"] = _alternative(schema["not"])
    if schema.get("x-kubernetes-list-type") == "set":
        result["uniqueItems"] = True
    if result.get("type") == "object":
        _reject_unknown_fields(schema, result)
    return result


def _type(schema: Schema, result: Schema) -> None:
    """Removes null, which means the same as an absent field, from type and enum. Converts int-or-string and formats.

    Raises:
        ValueError: when type is a list without a type.
    """
    if isinstance(result.get("type"), list):
        names = [name for name in result["type"] if name != "null"]
        if not names:
            raise ValueError("the list of types is empty")
        result["type"] = names[0]
    if "enum" in result:
        result["enum"] = [value for value in result["enum"] if value is not None]
    if schema.get("x-kubernetes-int-or-string") or result.get("format") == "int-or-string":
        result["type"] = ["integer", "string"]
        result.pop("format", None)
    if result.get("type") in ("integer", "number"):
        if result.pop("format", None) == "int32":
            result.setdefault("minimum", -(2**31))
            result.setdefault("maximum", 2**31 - 1)
    elif result.get("format") not in {None, "date-time"}:
        del result["format"]


def _reject_unknown_fields(schema: Schema, result: Schema) -> None:
    extra = schema.get("additionalProperties")
    if isinstance(extra, dict):
        result["additionalProperties"] = strict(extra)
    elif extra is not True and not schema.get("x-kubernetes-preserve-unknown-fields"):
        result["additionalProperties"] = False


def _alternative(schema: Schema) -> Schema:
    """Returns a branch of anyOf, oneOf, allOf or not. The outer schema rejects unknown fields, not the branch."""
    result = {key: schema[key] for key in _KEYWORDS if key in schema}
    if "properties" in schema:
        result["properties"] = {name: _alternative(child) for name, child in schema["properties"].items()}
    if isinstance(schema.get("items"), dict):
        result["items"] = _alternative(schema["items"])
    for word in ("allOf", "anyOf", "oneOf"):
        if word in schema:
            result[word] = [_alternative(part) for part in schema[word]]
    if "not" in schema:
        result["not"] = _alternative(schema["not"])
    return result

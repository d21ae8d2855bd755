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
"""The beginning of patterns that controller-gen writes for resource.Quantity."""


def strict(schema: Schema) -> Schema:
    """The closed schema, without descriptions and CEL rules. It refuses unknown fields.

    Objects stay open only if the API server keeps unknown fields. A quantity becomes a string of format `quantity`,
    int-or-string becomes both types, int32 gets its range, and a list of type `set` gets unique items.
    """
    if schema.get("pattern", "").startswith(_QUANTITY):
        return {"type": "string", "format": "quantity"}
    made = {key: schema[key] for key in _KEYWORDS if key in schema}
    _type(schema, made)
    if "properties" in schema:
        made["properties"] = {name: strict(child) for name, child in schema["properties"].items()}
    if "items" in schema:
        made["items"] = strict(schema["items"])
    for word in ("allOf", "anyOf", "oneOf"):
        if word in schema and isinstance(made.get("type", ""), str):
            made[word] = [_alternative(part) for part in schema[word]]
    if "not" in schema:
        made["not"] = _alternative(schema["not"])
    if schema.get("x-kubernetes-list-type") == "set":
        made["uniqueItems"] = True
    if made.get("type") == "object":
        _close(schema, made)
    return made


def _type(schema: Schema, made: Schema) -> None:
    """Removes null from type and enum, because an absent field means the same. int-or-string becomes both types."""
    if isinstance(made.get("type"), list):
        made["type"] = next(name for name in made["type"] if name != "null")
    if "enum" in made:
        made["enum"] = [value for value in made["enum"] if value is not None]
    if schema.get("x-kubernetes-int-or-string") or made.get("format") == "int-or-string":
        made["type"] = ["integer", "string"]
        made.pop("format", None)
    if made.get("type") in ("integer", "number"):
        if made.pop("format", None) == "int32":
            made.setdefault("minimum", -(2**31))
            made.setdefault("maximum", 2**31 - 1)
    elif made.get("format") not in {None, "date-time"}:
        del made["format"]


def _close(schema: Schema, made: Schema) -> None:
    extra = schema.get("additionalProperties")
    if isinstance(extra, dict):
        made["additionalProperties"] = strict(extra)
    elif extra is not True and not schema.get("x-kubernetes-preserve-unknown-fields"):
        made["additionalProperties"] = False


def _alternative(schema: Schema) -> Schema:
    """A branch of anyOf, oneOf, allOf or not. It stays open, because the outer schema closes the object."""
    made = {key: schema[key] for key in _KEYWORDS if key in schema}
    if "properties" in schema:
        made["properties"] = {name: _alternative(child) for name, child in schema["properties"].items()}
    if isinstance(schema.get("items"), dict):
        made["items"] = _alternative(schema["items"])
    for word in ("allOf", "anyOf", "oneOf"):
        if word in schema:
            made[word] = [_alternative(part) for part in schema[word]]
    if "not" in schema:
        made["not"] = _alternative(schema["not"])
    return made

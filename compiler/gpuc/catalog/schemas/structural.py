"""Converts the OpenAPI v3 schemas of CustomResourceDefinitions into strict JSON Schemas."""

from collections.abc import Callable
from typing import Any

Schema = dict[str, Any]

_KEYWORDS = (
    "type", "format", "enum", "pattern", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum",
    "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "required", "default",
    "propertyNames", "x-kubernetes-embedded-resource", "x-kubernetes-list-map-keys",
    "x-kubernetes-preserve-unknown-fields",
)  # fmt: skip
_BRANCHES = ("properties", "items", "allOf", "anyOf", "oneOf", "not")
"""The keywords with the subschemas of a branch of anyOf, oneOf, allOf or not."""
_QUANTITY = r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?"
"""The start of the pattern that controller-gen writes for resource.Quantity."""


def with_parts(schema: Schema, convert: Callable[[Schema, str], Any]) -> Schema:
    """Returns a copy of a schema with sorted keywords and properties, in which direct subschemas are replaced.

    Args:
        convert: returns the replacement of a subschema; its second argument is the name of the property, or empty.
    """

    def converted(word: str, value: Any) -> Any:
        if word == "properties":
            return {name: convert(child, name) for name, child in sorted(value.items())}
        if word in ("items", "additionalProperties", "not", "propertyNames") and isinstance(value, dict):
            return convert(value, "")
        return [convert(part, "") for part in value] if word in ("allOf", "anyOf", "oneOf") else value

    return {word: converted(word, value) for word, value in sorted(schema.items())}


def strict(schema: Schema) -> Schema:
    """Returns the schema without descriptions and CEL rules. Unknown fields become errors.

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
    kept = {key: schema[key] for key in (*_KEYWORDS, *_BRANCHES) if key in schema}
    return with_parts(kept, lambda part, _: _alternative(part))

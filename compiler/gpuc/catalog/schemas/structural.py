"""From a structural OpenAPI v3 schema to the strict JSON Schema of a table."""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]

_KEPT = (
    "type", "format", "enum", "pattern", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum",
    "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "required", "default",
    "propertyNames", "x-kubernetes-embedded-resource", "x-kubernetes-list-map-keys",
    "x-kubernetes-preserve-unknown-fields",
)  # fmt: skip
_QUANTITY = r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?"
"""How the patterns begin that controller-gen writes for resource.Quantity."""


def strict(schema: Schema) -> Schema:
    """The schema without prose and expressions, closed: a field that it does not name is refused.

    Objects stay open only where the API server would keep unknown fields. A quantity becomes a string of
    format `quantity`, an int-or-string a type of both, an int32 gets its range, a list of type `set` unique
    items.
    """
    if schema.get("pattern", "").startswith(_QUANTITY):
        return {"type": "string", "format": "quantity"}
    made = {key: schema[key] for key in _KEPT if key in schema}
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
    """Drops null from type and enum, since an absent field says the same; gives an int-or-string both types."""
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
    """A branch of anyOf, oneOf, allOf or not: it adds checks, the schema around it closes the object."""
    made = {key: schema[key] for key in _KEPT if key in schema}
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

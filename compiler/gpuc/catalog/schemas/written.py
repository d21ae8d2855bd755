"""Changes schemas for objects as users write them: the API server has not yet set defaults or converted quantities."""

from typing import Any


def written(schema: Any, *, numbers: str = "number") -> Any:
    """Returns a schema for objects as users write them.

    In these objects, a quantity may be a number, and a required field with a default may be missing.

    Args:
        numbers: the type of the numbers that quantities may be: "integer" for custom kinds, whose
            CustomResourceDefinitions allow no fractions.
    """
    definitions = schema.get("$defs", {}) if isinstance(schema, dict) else {}
    return _written(schema, numbers, definitions)


def _written(schema: Any, numbers: str, definitions: dict[str, Any]) -> Any:
    if isinstance(schema, list):
        return [_written(item, numbers, definitions) for item in schema]
    if not isinstance(schema, dict):
        return schema
    if schema.get("format") == "quantity" and schema.get("type") == "string":
        return {**schema, "type": ["string", numbers]}
    parts = {key: _written(value, numbers, definitions) for key, value in schema.items()}
    required, properties = parts.get("required"), parts.get("properties")
    if isinstance(required, list) and isinstance(properties, dict):
        parts["required"] = [name for name in required if not _has_default(properties.get(name, {}), definitions)]
    return parts


def _has_default(schema: Any, definitions: dict[str, Any]) -> bool:
    reference = schema.get("$ref", "") if isinstance(schema, dict) else ""
    return "default" in schema or "default" in definitions.get(reference.rpartition("/")[2], {})

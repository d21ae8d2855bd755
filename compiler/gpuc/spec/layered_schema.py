"""The JSON Schema of specs that are merged. A layer, and a cluster that extends layers, may omit required keys.

Each model has two definitions in the schema. For the model of a node pool, the definitions are:

- `Pool` has the descriptions and types of all keys, but requires no key. Every key may be null, because null removes
  the key of a layer.
- `CompletePool` has only the list of required keys. The schema applies it in addition to `Pool` where no layer can add
  keys: in a cluster without `extends`, and in lists, because a list replaces the list of a layer.
"""

from collections.abc import Collection
from typing import Any

from gpuc.diagnostics.finding import DeclarationError

_REFERENCE = "#/$defs/"
_COMPLETE = "Complete"
_NO_NULL = "WithoutNull"
_SIZES = ("required", "minProperties")
"""The keywords that only a complete map has to meet."""
_UNIONS = ("anyOf", "oneOf")
_FREE_FORM = {"else": ("values", "patch"), "then": ("value",)}
"""The keys whose values may contain null: Helm values and patches, and the value of an operation, which has the key
`op`."""


def layered(schema: dict[str, Any]) -> dict[str, Any]:
    """Converts the schema of a complete cluster into the schema of all files in specs/: clusters and layers.

    In the new schema, layers and clusters with `extends` may omit required keys, because a layer can contain them. Keys
    may be null, because null removes the key of a layer. A layer has no `metadata`. A cluster without `extends` must
    have all required keys, and may have null only in Helm values and patches.

    Raises:
        DeclarationError: when the value of a key can be one of two maps, and each of the two maps has required keys.
    """
    complete = _complete_definitions(schema["$defs"])
    parts = {name: _nullable(_part(shape, complete)) for name, shape in schema["$defs"].items()}
    parts["Metadata"], parts["Spec"] = (_part(schema["$defs"][name], complete) for name in ("Metadata", "Spec"))
    required = {_COMPLETE + name: shape for name, shape in sorted(complete.items())}
    return {
        **_part(schema, complete),
        "properties": {key: _part(value, complete) for key, value in schema["properties"].items()},
        "required": ["apiVersion", "kind", "spec"],
        "if": {"properties": {"kind": {"const": "Layer"}}, "required": ["kind"]},
        "then": {"properties": {"metadata": False}},
        "else": {
            "required": ["metadata"],
            "properties": {"metadata": _reference(_COMPLETE + "Metadata")},
            "if": {"not": {"required": ["extends"]}},
            "then": {"properties": {"spec": _everything("Spec")}},
        },
        "$defs": {**parts, **required, _NO_NULL: _without_null()},
    }


def _complete_definitions(definitions: dict[str, Any]) -> dict[str, Any]:
    """Returns the required keys of all definitions by name, without definitions that require nothing."""
    found: dict[str, Any] = {}
    while True:
        shapes = {name: _requirements(shape, found.keys()) for name, shape in definitions.items()}
        nonempty = {name: shape for name, shape in shapes.items() if shape}
        if nonempty.keys() == found.keys():
            return nonempty
        found = nonempty


def _requirements(schema: Any, names: Collection[str]) -> dict[str, Any]:
    """Returns the required keys of a schema and of the maps below it, but not below a list.

    Args:
        schema: a schema of a complete value.
        names: the names of the definitions that require keys.
    """
    if not isinstance(schema, dict):
        return {}
    found = {keyword: schema[keyword] for keyword in _SIZES if keyword in schema}
    name = schema.get("$ref", "").removeprefix(_REFERENCE)
    if name in names:
        found |= _reference(_COMPLETE + name)
    for keyword in ("properties", "patternProperties"):
        values = {key: _requirements(value, names) for key, value in schema.get(keyword, {}).items()}
        if any(values.values()):
            found[keyword] = {key: value for key, value in values.items() if value}
    if others := _requirements(schema.get("additionalProperties"), names):
        found["additionalProperties"] = others
    for alternative in _alternatives(schema):
        required = _requirements(alternative, names)
        if found and required:
            raise DeclarationError(f"two alternatives of the schema require keys: {found} and {required}")
        found |= required
    return found


def _part(schema: Any, complete: dict[str, Any]) -> Any:
    """Returns the schema without required keys, except in lists, and with null for the keys of a map."""
    if not isinstance(schema, dict):
        return schema
    part = {key: value for key, value in schema.items() if key not in (*_SIZES, "$defs")}
    if part.get("default", ...) is None:
        del part["default"]
    for keyword in ("properties", "patternProperties"):
        if keyword in part:
            part[keyword] = {key: _nullable(_part(value, complete)) for key, value in part[keyword].items()}
    if "patternProperties" in part:
        part["additionalProperties"] = False
    elif "additionalProperties" in part:
        part["additionalProperties"] = _nullable(_part(part["additionalProperties"], complete))
    if "items" in part:
        part["items"] = _entry(part["items"], complete)
    if alternatives := _alternatives(part):
        members = [_part(member, complete) for member in alternatives]
        part = {key: value for key, value in part.items() if key not in _UNIONS}
        part |= members[0] if len(members) == 1 else {"anyOf": members}
    return part


def _entry(schema: dict[str, Any], complete: dict[str, Any]) -> dict[str, Any]:
    """Returns the schema of an entry of a list, which is complete."""
    part: dict[str, Any] = _part(schema, complete)
    name = part.get("$ref", "").removeprefix(_REFERENCE)
    if not name:
        return {**part, **{keyword: schema[keyword] for keyword in _SIZES if keyword in schema}}
    return part | _everything(name, name in complete)


def _everything(name: str, has_required_keys: bool = True) -> dict[str, Any]:
    """Returns the schema of a value without null, and with all required keys of a definition."""
    names = [_COMPLETE + name, _NO_NULL] if has_required_keys else [_NO_NULL]
    return {"allOf": [_reference(name) for name in names]}


def _nullable(schema: Any) -> Any:
    """Returns the schema with null as an additional value. A definition that it refers to allows null by itself."""
    if not isinstance(schema, dict):
        return schema
    found = dict(schema)
    if "const" in found:
        found["enum"] = [found.pop("const")]
    if "enum" in found:
        found["enum"] = [*found["enum"], None]
    if "type" in found:
        found["type"] = [found["type"], "null"]
    if "anyOf" in found:
        found["anyOf"] = [*found["anyOf"], {"type": "null"}]
    return found


def _without_null() -> dict[str, Any]:
    below = _reference(_NO_NULL)
    return {
        "errorMessage": "null removes a key of a layer; expected a value, because no layer can have the key",
        "type": ["object", "array", "string", "number", "boolean"],
        "items": below,
        "if": {"type": "object", "required": ["op"]},
        **{
            branch: {"properties": dict.fromkeys(keys, True), "additionalProperties": below}
            for branch, keys in _FREE_FORM.items()
        },
    }


def _alternatives(schema: dict[str, Any]) -> list[Any]:
    """Returns the alternatives of a schema without null, which `_nullable` adds."""
    members = [member for keyword in _UNIONS for member in schema.get(keyword, ())]
    return [member for member in members if member != {"type": "null"}]


def _reference(name: str) -> dict[str, Any]:
    return {"$ref": _REFERENCE + name}

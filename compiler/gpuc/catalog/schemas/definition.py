"""Converts the strict JSON Schemas of custom kinds back into CustomResourceDefinitions."""

from collections.abc import Mapping

from gpuc.catalog.schemas import Table
from gpuc.catalog.schemas.structural import Schema

_COPIED_KEYS = (
    "type", "format", "enum", "pattern", "minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems",
    "minProperties", "maxProperties", "required", "default", "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-embedded-resource",
)  # fmt: skip


def definition(table: Table) -> Schema:
    """Returns a CustomResourceDefinition with the typed fields of a schema. It allows any fields in `status`."""
    open_object = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema = _structural(table.schema, table.schema.get("$defs", {}))
    text = {"type": "string"}
    own = {"apiVersion": text, "kind": text, "metadata": {"type": "object"}, "status": open_object}
    schema["properties"] = schema.get("properties", {}) | own
    version = {"name": table.version, "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    spec = {
        "group": table.group,
        "names": {"kind": table.kind, "plural": table.plural},
        "scope": "Namespaced" if table.namespaced else "Cluster",
        "versions": [version | {"subresources": {"status": {}}}],
    }
    metadata = {"name": f"{table.plural}.{table.group}"}
    api = "apiextensions.k8s.io/v1"
    return {"apiVersion": api, "kind": "CustomResourceDefinition", "metadata": metadata, "spec": spec}


def _structural(schema: Schema, defs: Mapping[str, Schema]) -> Schema:
    """Returns a structural schema for a strict schema: references are replaced, and unknown fields are allowed."""
    if "$ref" in schema:
        schema = {**defs[schema["$ref"].rpartition("/")[2]], **{k: v for k, v in schema.items() if k != "$ref"}}
    if isinstance(schema.get("type"), list) or schema.get("format") == "quantity":
        return {"x-kubernetes-int-or-string": True}
    structural = {key: schema[key] for key in _COPIED_KEYS if key in schema}
    if "properties" in schema:
        structural["properties"] = {name: _structural(child, defs) for name, child in schema["properties"].items()}
    if isinstance(schema.get("items"), dict):
        structural["items"] = _structural(schema["items"], defs)
    if keys := schema.get("x-kubernetes-list-map-keys"):
        structural |= {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": keys}
    if isinstance(values := schema.get("additionalProperties"), dict):
        structural["additionalProperties"] = _structural(values, defs)
    if "type" not in structural:
        structural = {"x-kubernetes-preserve-unknown-fields": True}
    return structural

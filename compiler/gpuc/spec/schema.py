"""The JSON Schema of the spec language, which editors use. The docstrings of fields are its descriptions."""

import ast
import sys
from functools import cache
from inspect import cleandoc
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import core_schema

from gpuc.diagnostics.finding import DeclarationError
from gpuc.source.moved import ANY, MOVES
from gpuc.spec.cluster import ClusterSpec
from gpuc.spec.facts import CatalogFile
from gpuc.spec.layered_schema import layered

_DRAFT = "https://json-schema.org/draft/2020-12/schema"


def json_schema() -> dict[str, Any]:
    """Returns the JSON Schema (draft 2020-12) of all spec files: clusters and layers.

    The schema requires keys only in a cluster that extends no layers. The module layered_schema explains the reason.
    """
    schema = ClusterSpec.model_json_schema(schema_generator=_WithDocstrings)
    for old, new in MOVES.items():
        description = f"Moved to {'.'.join(new[1:])}: `gpuc fix` moves the field."
        _map_at(schema, old[:-1])[old[-1]] = {"deprecated": True, "description": description, **_type(schema, new)}
    schema["properties"]["kind"] = {
        "enum": ["Cluster", "Layer"],
        "description": "A cluster, or a layer that clusters extend.",
    }
    schema["properties"]["extends"] = {
        "type": "array",
        "items": {"type": "string"},
        "description": "Paths of layers, relative to specs/, lowest first. Maps are merged by key, lists are replaced. "
        "null removes a key that a layer has.",
    }
    return {"$schema": _DRAFT, "title": "gpuc cluster", **layered(schema)}


def _map_at(schema: dict[str, Any], path: tuple[str, ...]) -> dict[str, Any]:
    """Returns the properties of the map at a place of the spec. The step * is any key of a map with free keys."""
    node = schema
    for step in (*path, ""):
        node = next((choice for choice in node.get("anyOf", ()) if "$ref" in choice), node)
        node = schema["$defs"][node["$ref"].rpartition("/")[2]] if "$ref" in node else node
        if step:
            node = next(iter(node["patternProperties"].values())) if step == ANY else node["properties"][step]
    properties: dict[str, Any] = node["properties"]
    return properties


def _type(schema: dict[str, Any], path: tuple[str, ...]) -> dict[str, Any]:
    """Returns the schema of the field at a place, without its description and default."""
    field = _map_at(schema, path[:-1])[path[-1]]
    return {key: value for key, value in field.items() if key not in ("description", "default")}


def catalog_schema() -> dict[str, Any]:
    """Returns the JSON Schema (draft 2020-12) of the files in specs/catalog/."""
    schema = CatalogFile.model_json_schema(schema_generator=_WithDocstrings)
    return schema | {"$schema": _DRAFT, "title": "gpuc catalog"}


class _WithDocstrings(GenerateJsonSchema):
    """Adds the docstrings of fields as descriptions. Reads them from the source, because Python drops them."""

    def model_schema(self, schema: core_schema.ModelSchema) -> dict[str, Any]:
        model = super().model_schema(schema)
        model.pop("title", None)
        docstrings = docstrings_of(schema["cls"])
        for name, field in schema["cls"].model_fields.items():
            property_schema = model.get("properties", {}).get(field.alias or name)
            if property_schema is not None:
                property_schema.pop("title", None)
                if name not in docstrings:
                    raise DeclarationError(f"{schema['cls'].__name__}.{name} has no docstring below the attribute")
                property_schema["description"] = docstrings[name]
        return model


def docstrings_of(model: type[BaseModel]) -> dict[str, str]:
    """Returns the docstrings of the attributes of a model and of its base classes, by the name of the attribute."""
    fields = model.model_fields.items()
    docstrings = {name: field.description for name, field in fields if field.description is not None}
    for owner in reversed(model.__mro__):
        docstrings |= _module_docstrings(owner.__module__).get(owner.__name__, {})
    return docstrings


@cache
def _module_docstrings(module: str) -> dict[str, dict[str, str]]:
    """Returns the docstrings of attributes in a module of the spec language, by class and attribute."""
    file = getattr(sys.modules.get(module), "__file__", None)
    if file is None or not module.startswith("gpuc."):
        return {}
    tree = ast.parse(Path(file).read_text(encoding="utf-8"))
    return {node.name: _attribute_docstrings(node) for node in tree.body if isinstance(node, ast.ClassDef)}


def _attribute_docstrings(node: ast.ClassDef) -> dict[str, str]:
    docstrings: dict[str, str] = {}
    for before, after in zip(node.body, node.body[1:], strict=False):
        if (
            isinstance(before, ast.AnnAssign)
            and isinstance(before.target, ast.Name)
            and isinstance(after, ast.Expr)
            and isinstance(after.value, ast.Constant)
        ):
            docstrings[before.target.id] = cleandoc(str(after.value.value))
    return docstrings

"""The JSON Schema of the spec language, for editors; descriptions are the docstrings under the fields."""

from __future__ import annotations

import ast
import sys
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import core_schema

from gpuc.diagnostics.finding import DeclarationError
from gpuc.spec.cluster import ClusterSpec


def json_schema() -> dict[str, Any]:
    """The schema of files of kind Cluster, in JSON Schema draft 2020-12.

    Cluster files may leave required keys to their layers, so only the outer four are required.
    """
    schema = ClusterSpec.model_json_schema(schema_generator=_WithDocstrings)
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["title"] = "gpuc cluster"
    schema["properties"]["kind"] = {
        "enum": ["Cluster", "Layer"],
        "description": "A cluster, or a layer that clusters extend.",
    }
    schema["properties"]["extends"] = {
        "type": "array",
        "items": {"type": "string"},
        "description": "Layers beneath, first to last, relative to specs/; maps merge by key, lists are replaced.",
    }
    schema["required"] = ["apiVersion", "kind", "spec"]
    schema["$defs"]["Spec"].pop("required", None)
    return schema


class _WithDocstrings(GenerateJsonSchema):
    """Takes descriptions from the source text, so that importing the models need not read it."""

    def model_schema(self, schema: core_schema.ModelSchema) -> dict[str, Any]:
        made = super().model_schema(schema)
        made.pop("title", None)
        docstrings = _docstrings(schema["cls"])
        for name, field in schema["cls"].model_fields.items():
            shape = made.get("properties", {}).get(field.alias or name)
            if shape is not None:
                shape.pop("title", None)
                if name not in docstrings:
                    raise DeclarationError(f"{schema['cls'].__name__}.{name} has no docstring below the attribute")
                shape["description"] = docstrings[name]
        return made


def _docstrings(model: type[BaseModel]) -> dict[str, str]:
    found: dict[str, str] = {}
    for owner in reversed(model.__mro__):
        found |= _module_docstrings(owner.__module__).get(owner.__name__, {})
    return found


@cache
def _module_docstrings(module: str) -> dict[str, dict[str, str]]:
    """The text under each attribute, by attribute, by class, of one module of the language."""
    file = getattr(sys.modules.get(module), "__file__", None)
    if file is None or not module.startswith("gpuc."):
        return {}
    tree = ast.parse(Path(file).read_text(encoding="utf-8"))
    return {node.name: _under_attributes(node) for node in tree.body if isinstance(node, ast.ClassDef)}


def _under_attributes(node: ast.ClassDef) -> dict[str, str]:
    texts: dict[str, str] = {}
    for before, after in zip(node.body, node.body[1:], strict=False):
        if (
            isinstance(before, ast.AnnAssign)
            and isinstance(before.target, ast.Name)
            and isinstance(after, ast.Expr)
            and isinstance(after.value, ast.Constant)
        ):
            texts[before.target.id] = str(after.value.value)
    return texts

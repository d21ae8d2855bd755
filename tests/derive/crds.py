"""Tables of custom kinds, derived from CustomResourceDefinitions."""

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from gpuc.catalog.schemas.deduplicate import deduplicated
from gpuc.catalog.schemas.structural import Schema, strict
from gpuc.documents.reader import load_all_yaml
from gpuc.kubernetes.api_groups import CONSTRAINT_API

CustomKind = tuple[str, str]
"""apiVersion, kind."""

_ENUMS: dict[tuple[str, str], list[str]] = {
    ("ConstraintTemplate", "spec.targets.[].target"): ["admission.k8s.gatekeeper.sh"],
    ("ConstraintTemplate", "spec.targets.[].code.[].engine"): ["K8sNativeValidation", "Rego"],
    ("Config", "spec.match.[].processes.[]"): ["*", "audit", "webhook", "sync", "mutation-webhook"],
    ("Constraint", "spec.match.scope"): ["*", "Cluster", "Namespaced"],
}
"""Values that controllers validate in code. The CRDs do not restrict these values."""


def custom_tables(folder: Path, kinds: Collection[CustomKind]) -> dict[str, Any]:
    """Returns the tables of custom kinds by file name: group/Kind_version.json.

    Args:
        folder: contains <project>/<version>/*.yaml. If two projects define a kind, the last project by name counts.

    Raises:
        LookupError: when no file defines one of the kinds.
    """
    tables: dict[str, Any] = {}
    for definition in _definitions(folder, {kind for _, kind in kinds} | {_ANY_CONSTRAINT}):
        spec = definition["spec"]
        group, kind = spec["group"], spec["names"]["kind"]
        for version in spec["versions"]:
            schema = version["schema"]["openAPIV3Schema"]
            names = {"plural": spec["names"]["plural"], "namespaced": spec["scope"] == "Namespaced"}
            if (f"{group}/{version['name']}", kind) in kinds:
                tables[_file(f"{group}/{version['name']}", kind)] = _table(kind, schema, names)
            if kind == _ANY_CONSTRAINT:
                tables[_file(CONSTRAINT_API, "Constraint")] = _constraint(schema)
    undefined = [f"{api} {kind}" for api, kind in sorted(kinds) if _file(api, kind) not in tables]
    if undefined:
        raise LookupError(f"no CustomResourceDefinition below {folder} for {', '.join(undefined)}")
    return tables


def _definitions(folder: Path, kinds: Collection[str]) -> Iterator[Any]:
    for path in sorted(folder.glob("*/*/*.yaml")):
        text = path.read_text(encoding="utf-8")
        if any(f"kind: {kind}\n" in text for kind in kinds):
            documents = (item for item in load_all_yaml(text) if item)
            yield from (item for item in documents if item["kind"] == "CustomResourceDefinition")


def _file(api: str, kind: str) -> str:
    group, _, version = api.rpartition("/")
    return f"{group}/{kind}_{version}.json"


def _table(kind: str, schema: Schema, names: Schema) -> Schema:
    body = {
        **schema,
        "type": "object",
        "properties": {
            name: child
            for name, child in schema["properties"].items()
            if name not in {"apiVersion", "kind", "metadata", "status"}
        },
        "required": [name for name in schema.get("required", []) if name not in {"metadata", "status"}],
    }
    closed = strict(body)
    if not closed["required"]:
        del closed["required"]
    for (owner, path), values in _ENUMS.items():
        if owner == kind:
            _at(closed, path)["enum"] = values
    return {**names, "schema": deduplicated(closed)}


def _at(schema: Schema, path: str) -> Schema:
    for step in path.split("."):
        schema = schema["items"] if step == "[]" else schema["properties"][step]
    return schema


_ANY_CONSTRAINT = "DummyCRD"
"""Gatekeeper's CRD with the schema of `match` in all constraints."""
_ACTIONS = ["dryrun", "warn", "deny"]
_SCOPED = {
    "type": "object",
    "properties": {
        "action": {"type": "string", "enum": _ACTIONS},
        "enforcementPoints": {
            "type": "array",
            "items": {"type": "object", "properties": {"name": {"type": "string"}}},
        },
    },
}
"""Source: open-policy-agent/frameworks 2026-06-16 constraint/pkg/client/crds/schema.go (CreateSchema)."""


def _constraint(schema: Schema) -> Schema:
    """Returns the schema of any constraint. It allows all parameters, because the ConstraintTemplate validates them."""
    spec = {
        "type": "object",
        "properties": {
            "enforcementAction": {"type": "string", "enum": [*_ACTIONS, "scoped"]},
            "scopedEnforcementActions": {"type": "array", "items": _SCOPED},
            "match": schema["properties"]["embeddedMatch"],
            "parameters": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        },
    }
    return _table("Constraint", {"properties": {"spec": spec}}, {"plural": "", "namespaced": False})

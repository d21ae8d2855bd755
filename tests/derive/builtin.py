"""Tables of Kubernetes' built-in kinds, from the schemas in the package kubernetes-validate."""

import json
import tomllib
from pathlib import Path
from typing import Any

from gpuc.catalog.schemas.deduplicate import Deduplicator
from gpuc.catalog.schemas.structural import Schema, strict, with_parts
from gpuc.kubernetes.resource_name import plural

VERSIONS = ("1.33", "1.34", "1.35", "1.36")
_TABLE: dict[str, Any] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
EMITTED: dict[str, list[str]] = _TABLE["emitted"]
OFTEN: dict[str, list[str]] = _TABLE["often"]


def builtin_tables(folder: Path, chosen: dict[str, list[str]]) -> Schema:
    """Returns one table of built-in kinds for all Kubernetes versions. Equal definitions are stored once.

    Args:
        folder: kubernetes-json-schema of the package, with v<version>.0-local-strict/_definitions.json.
        chosen: kinds by apiVersion.
    """
    deduplicator, numbers = Deduplicator(), {}
    for version in VERSIONS:
        path = folder / f"v{version}.0-local-strict" / "_definitions.json"
        resolver = _Resolver(json.loads(path.read_text(encoding="utf-8"))["$defs"])
        for api, kinds in chosen.items():
            for kind in kinds:
                numbers[version, api, kind] = deduplicator.add(strict(resolver.body(api, kind)), kind)
    table: Schema = {"kinds": {version: {} for version in VERSIONS}}
    for (version, api, kind), number in numbers.items():
        table["kinds"][version][f"{api}/{kind}"] = {
            "plural": plural(api.rpartition("/")[0], kind),
            "namespaced": kind not in _TABLE["cluster_scoped"],
            "schema": deduplicator.expanded(number),
        }
    return {**table, "$defs": deduplicator.definitions}


class _Resolver:
    """Schemas of one Kubernetes version, with references replaced by the referenced schema."""

    def __init__(self, definitions: Schema) -> None:
        self._definitions = definitions
        self._kinds = {
            (f"{served['group']}/{served['version']}".lstrip("/"), served["kind"]): name
            for name, schema in definitions.items()
            for served in schema.get("x-kubernetes-group-version-kind", [])
        }

    def body(self, api: str, kind: str) -> Schema:
        schema = self._definition(self._kinds[api, kind])
        dropped = {"apiVersion", "kind", "metadata", "status"}
        properties = {name: child for name, child in schema["properties"].items() if name not in dropped}
        return {**schema, "properties": properties}

    def _definition(self, name: str) -> Schema:
        short = name.rpartition(".")[2]
        if short == "Quantity":
            return {"type": "string", "format": "quantity"}
        if short == "IntOrString":
            return {"x-kubernetes-int-or-string": True}
        return self._refined(short, self._resolved(self._definitions[name]))

    def _resolved(self, schema: Schema) -> Schema:
        if "$ref" in schema:
            return self._definition(schema["$ref"].rpartition("/")[2])
        return with_parts(schema, lambda part, _: self._resolved(part))

    @staticmethod
    def _refined(short: str, schema: Schema) -> Schema:
        for field, values in _TABLE["enums"].items():
            owner, name, *rest = field.split(".")
            if owner == short:
                target = schema["properties"][name]
                (target["items"] if rest else target)["enum"] = values
        for field, pattern in _TABLE["patterns"].items():
            owner, name = field.split(".")
            if owner == short:
                schema["properties"][name]["propertyNames"] = {"pattern": pattern}
        if defaulted := _TABLE["defaulted"].get(short):
            schema["required"] = [name for name in schema["required"] if name not in defaulted]
        return schema

"""Converts CustomResourceDefinitions to compact tables: a strict schema, the CEL rules, and the formats of texts."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from gpuc.catalog.schemas.sharing import shared
from gpuc.catalog.schemas.structural import Schema, strict
from gpuc.lint.crds.cel_values import FORMATS
from gpuc.verify.schema_errors import validator

_NOT_IN_BODY = frozenset(("apiVersion", "kind", "metadata", "status"))
_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")
_KIND = re.compile(r"[A-Za-z][A-Za-z0-9]{0,62}")
_RULES = "x-kubernetes-validations"
_WORDS_OF_A_RULE = ("rule", "message", "messageExpression", "fieldPath", "optionalOldSelf")
_MAPS_OF_SCHEMAS, _LISTS_OF_SCHEMAS = ("properties", "patternProperties"), ("allOf", "anyOf", "oneOf")


@dataclass(frozen=True, slots=True)
class ImportedTable:
    """The table of one served version of one kind, as a file in the user's repository."""

    file: str
    """Relative to the folder of all tables: "karpenter.sh/NodePool_v1.json"."""
    text: str
    rules: int
    """The number of CEL rules."""

    def all_rules(self) -> Iterator[Schema]:
        """All CEL rules of the table."""
        return _all_rules(json.loads(self.text).get("rules", {}))


def imported_tables(definition: Any) -> Iterator[ImportedTable]:
    """The tables of a CustomResourceDefinition: one table for every served version.

    Args:
        definition: a document of kind CustomResourceDefinition.

    Raises:
        ValueError: when the API server would refuse the definition. The message gives the reason.
    """
    spec = _map(_map(definition, "the document").get("spec"), "spec")
    names = _map(spec.get("names"), "spec.names")
    group, kind, plural = spec.get("group"), names.get("kind"), names.get("plural")
    if not _is(_NAME, group) or not _is(_KIND, kind) or not _is(_NAME, plural):
        raise ValueError("spec.group, spec.names.kind and spec.names.plural must be valid names")
    versions = spec.get("versions")
    if definition.get("apiVersion") != "apiextensions.k8s.io/v1" or not isinstance(versions, list):
        raise ValueError("apiVersion must be apiextensions.k8s.io/v1, with a list spec.versions")
    for version in versions:
        if not _is(_NAME, _map(version, "a version").get("name")):
            raise ValueError("a version has no name")
        if version.get("served") is not False:
            schema = _map(version.get("schema"), f"the schema of {version['name']}").get("openAPIV3Schema")
            table: Schema = {"plural": plural, "namespaced": spec.get("scope") == "Namespaced"}
            table |= _table(schema, _replicas(version))
            text = json.dumps(table, sort_keys=True, separators=(",", ":")) + "\n"
            count = sum(1 for _ in _all_rules(table.get("rules", {})))
            yield ImportedTable(f"{group}/{kind}_{version['name']}.json", text, count)


def are_names(*, group: Any, version: Any, kind: Any) -> bool:
    """Whether group, version and kind are valid names, and therefore safe as parts of a file path."""
    return _is(_NAME, group) and _is(_NAME, version) and _is(_KIND, kind)


def _replicas(version: Schema) -> list[str]:
    """The steps of specReplicasPath in the scale subresource; empty without the subresource."""
    scale = _map(_map(version.get("subresources") or {}, "subresources").get("scale") or {}, "scale")
    path = scale.get("specReplicasPath")
    return path.strip(".").split(".") if isinstance(path, str) else []


def _table(schema: Any, replicas: list[str]) -> Schema:
    """The strict schema without apiVersion, kind, metadata and status, and the trees of rules and formats.

    Args:
        replicas: steps to the number of replicas, which must be at least 0.

    Raises:
        ValueError: when the schema is not structural, or the validator cannot use the schema.
    """
    _require_structural(schema, "openAPIV3Schema")
    properties = {name: child for name, child in schema.get("properties", {}).items() if name not in _NOT_IN_BODY}
    body = {**schema, "type": "object", "properties": properties}
    body["required"] = [name for name in schema.get("required", []) if name not in _NOT_IN_BODY]
    complete = _with_embedded(body)
    made = _as_written(_as_defaulted(strict(complete)), complete)
    _require_replicas(made, replicas)
    closed: Schema = shared(made)
    try:
        validator(closed)
    except ValueError as error:
        raise ValueError(f"the schema cannot be used: {str(error).splitlines()[0]}") from error
    rules = _rules(body)
    trees = {"rules": rules, "shapes": _formats(body) if rules else {}}
    return {"schema": closed, **{word: tree for word, tree in trees.items() if tree}}


def _require_structural(schema: Any, where: str) -> None:
    """Raises an error unless every part of the schema has the expected type. Later code relies on the types."""
    _map(schema, where)
    for word in _MAPS_OF_SCHEMAS:
        for name, child in _map(schema.get(word, {}), f"{where}.{word}").items():
            _require_structural(child, f"{where}.{name}")
    for word in _LISTS_OF_SCHEMAS:
        for child in _list(schema.get(word, []), f"{where}.{word}"):
            _require_structural(child, f"{where}.{word}")
    for word in ("items", "not", "additionalProperties"):
        if word in schema and not (word == "additionalProperties" and isinstance(schema[word], bool)):
            _require_structural(schema[word], f"{where}.{word}")
    for word in ("required", "enum", _RULES):
        _list(schema.get(word, []), f"{where}.{word}")
    if not isinstance(schema.get("type", ""), str) or not isinstance(schema.get("pattern", ""), str):
        raise ValueError(f"{where} has a type or a pattern that is not text")


def _with_embedded(schema: Schema) -> Schema:
    """The schema, with the apiVersion, kind and metadata of embedded objects added."""
    made = dict(schema)
    if schema.get("x-kubernetes-embedded-resource"):
        anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        implied = {"apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": anything}
        made["properties"] = {**implied, **schema.get("properties", {})}
    if "properties" in made:
        made["properties"] = {name: _with_embedded(child) for name, child in made["properties"].items()}
    for word in ("items", "additionalProperties"):
        if isinstance(schema.get(word), dict):
            made[word] = _with_embedded(schema[word])
    return made


def _as_defaulted(schema: Any) -> Any:
    """The schema for written manifests: a required field that has a default may be missing."""
    if isinstance(schema, list):
        return [_as_defaulted(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: _as_defaulted(value) for key, value in schema.items()}
    if isinstance(schema.get("required"), list) and isinstance(known := schema.get("properties", {}), dict):
        made["required"] = [name for name in schema["required"] if "default" not in known.get(name, {})]
    return made


def _as_written(made: Schema, schema: Schema) -> Schema:
    """The strict schema for written manifests: integers as quantities, and nulls, where the definition allows them."""
    if made.get("format") == "quantity":
        return {**made, "type": ["string", "integer"]} if schema.get("x-kubernetes-int-or-string") is True else made
    if schema.get("nullable") is True and "type" in made:
        types = made["type"] if isinstance(made["type"], list) else [made["type"]]
        made = {**made, "type": [*types, "null"]}
        if "enum" in made:
            made["enum"] = [*made["enum"], None]
    if "properties" in made:
        own, known = schema.get("properties", {}), made["properties"]
        made["properties"] = {name: _as_written(child, own.get(name, {})) for name, child in known.items()}
    for word in ("items", "additionalProperties"):
        if isinstance(made.get(word), dict) and isinstance(schema.get(word), dict):
            made[word] = _as_written(made[word], schema[word])
    return made


def _require_replicas(made: Schema, replicas: list[str]) -> None:
    for step in replicas:
        made = made.get("properties", {}).get(step, {})
    if made.get("type") == "integer":
        made["minimum"] = max(0, made.get("minimum", 0))


def _rules(schema: Schema) -> Schema:
    """The rules of a schema as a tree, without the branches that have no rules. Kubernetes allows no rules in allOf."""
    own = [_rule(rule) for rule in schema.get(_RULES, [])]
    return _tree(schema, {"rules": own} if own else {}, _rules)


def _formats(schema: Schema) -> Schema:
    """The formats of texts that are not text in CEL, as a tree of the same form."""
    has_format = schema.get("type") == "string" and schema.get("format") in FORMATS
    return _tree(schema, {"format": schema["format"]} if has_format else {}, _formats)


def _tree(schema: Schema, made: Schema, of: Callable[[Schema], Schema]) -> Schema:
    """A tree from the entry of a schema itself and the trees of its parts. Empty trees are left out."""
    below = {name: found for name, child in schema.get("properties", {}).items() if (found := of(child))}
    if below:
        made["properties"] = below
    for word in ("items", "additionalProperties"):
        child = schema.get(word)
        if isinstance(child, dict) and (found := of(child)):
            made[word] = found
    return made


def _rule(rule: Any) -> Schema:
    if not isinstance(_map(rule, "a rule").get("rule"), str):
        raise ValueError(f"an entry of {_RULES} has no rule")
    kept = {word: rule[word] for word in _WORDS_OF_A_RULE if word in rule}
    return {word: value for word, value in kept.items() if isinstance(value, (str, bool))}


def _all_rules(rules: Schema) -> Iterator[Schema]:
    yield from rules.get("rules", ())
    for below in (*rules.get("properties", {}).values(), rules.get("items"), rules.get("additionalProperties")):
        if below:
            yield from _all_rules(below)


def _map(value: Any, name: str) -> Schema:
    if not isinstance(value, dict):
        raise ValueError(f"{name} is not a map")
    return value


def _list(value: Any, name: str) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError(f"{name} is not a list")
    return value


def _is(pattern: re.Pattern[str], value: Any) -> bool:
    return isinstance(value, str) and pattern.fullmatch(value) is not None

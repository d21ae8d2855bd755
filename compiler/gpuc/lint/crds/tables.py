"""Converts CustomResourceDefinitions to tables: a strict schema, the CEL rules, and the formats of strings."""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from msgspec import Struct

from gpuc.catalog.schemas.deduplicate import deduplicated
from gpuc.catalog.schemas.schema_errors import validator
from gpuc.catalog.schemas.structural import Schema, strict
from gpuc.lint.crds.cel_values import FORMATS
from gpuc.manifest.manifest import NOT_IN_BODY

_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")
_KIND = re.compile(r"[A-Za-z][A-Za-z0-9]{0,62}")
_RULES = "x-kubernetes-validations"
_RULE_FIELDS = ("rule", "message", "messageExpression", "fieldPath", "optionalOldSelf")
_MAPS_OF_SCHEMAS, _LISTS_OF_SCHEMAS = ("properties", "patternProperties"), ("allOf", "anyOf", "oneOf")


class ImportedTable(Struct, frozen=True):
    """The schema and CEL rules of a version of a kind, which `gpuc crds import` writes to a file of the repository."""

    file: str
    """The path relative to the folder of the tables: "karpenter.sh/NodePool_v1.json"."""
    text: str
    rules: int
    """The number of CEL rules."""

    def all_rules(self) -> Iterator[Schema]:
        """Yields the CEL rules of all levels of the schema."""
        return _all_rules(json.loads(self.text).get("rules", {}))


def imported_tables(definition: Any) -> Iterator[ImportedTable]:
    """Yields the tables of a CustomResourceDefinition: one table for every version that the API server serves.

    Args:
        definition: a document of kind CustomResourceDefinition.

    Raises:
        ValueError: when the API server would refuse the definition. The message is the reason.
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
    """Returns whether group, version and kind are valid names, and therefore safe in the path of a file."""
    return _is(_NAME, group) and _is(_NAME, version) and _is(_KIND, kind)


def _replicas(version: Schema) -> list[str]:
    """Returns the steps of specReplicasPath in the scale subresource; an empty list without the subresource."""
    scale = _map(_map(version.get("subresources") or {}, "subresources").get("scale") or {}, "scale")
    path = scale.get("specReplicasPath")
    return path.strip(".").split(".") if isinstance(path, str) else []


def _table(schema: Any, replicas: list[str]) -> Schema:
    """Returns the strict schema of an object's body, and the trees of CEL rules and of formats.

    The body of an object has no apiVersion, kind, metadata and status. A tree has the keys properties, items and
    additionalProperties, and the rules or the format of every field. Empty trees are left out.

    Args:
        replicas: the path of the number of replicas, which must be at least 0.

    Raises:
        ValueError: when the schema is not structural, or the validator cannot compile the schema.
    """
    _require_structural(schema, "openAPIV3Schema")
    properties = {name: child for name, child in schema.get("properties", {}).items() if name not in NOT_IN_BODY}
    body = {**schema, "type": "object", "properties": properties}
    body["required"] = [name for name in schema.get("required", []) if name not in NOT_IN_BODY]
    complete = _with_embedded(body)
    result = _as_written(_as_defaulted(strict(complete)), complete)
    _require_replicas(result, replicas)
    closed: Schema = deduplicated(result)
    try:
        validator(closed)
    except ValueError as error:
        raise ValueError(f"the schema cannot be used: {str(error).splitlines()[0]}") from error
    rules = _rules(body)
    trees = {"rules": rules, "shapes": _formats(body) if rules else {}}
    return {"schema": closed, **{word: tree for word, tree in trees.items() if tree}}


def _require_structural(schema: Any, path: str) -> None:
    """Raises a ValueError if a keyword of the schema has an unexpected type. Later code relies on the types.

    Args:
        path: the path of the schema, for the message of the error.
    """
    _map(schema, path)
    for word in _MAPS_OF_SCHEMAS:
        for name, child in _map(schema.get(word, {}), f"{path}.{word}").items():
            _require_structural(child, f"{path}.{name}")
    for word in _LISTS_OF_SCHEMAS:
        for child in _list(schema.get(word, []), f"{path}.{word}"):
            _require_structural(child, f"{path}.{word}")
    for word in ("items", "not", "additionalProperties"):
        if word in schema and not (word == "additionalProperties" and isinstance(schema[word], bool)):
            _require_structural(schema[word], f"{path}.{word}")
    for word in ("required", "enum", _RULES):
        _list(schema.get(word, []), f"{path}.{word}")
    if not isinstance(schema.get("type", ""), str) or not isinstance(schema.get("pattern", ""), str):
        raise ValueError(f"{path} has a type or a pattern that is not a string")


def _with_embedded(schema: Schema) -> Schema:
    """Returns the schema with the apiVersion, kind and metadata of embedded objects added."""
    result = dict(schema)
    if schema.get("x-kubernetes-embedded-resource"):
        anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        implied = {"apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": anything}
        result["properties"] = {**implied, **schema.get("properties", {})}
    if "properties" in result:
        result["properties"] = {name: _with_embedded(child) for name, child in result["properties"].items()}
    for word in ("items", "additionalProperties"):
        if isinstance(schema.get(word), dict):
            result[word] = _with_embedded(schema[word])
    return result


def _as_defaulted(schema: Any) -> Any:
    """Returns the schema for manifests before the API server sets defaults: fields with a default are not required."""
    if isinstance(schema, list):
        return [_as_defaulted(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    result = {key: _as_defaulted(value) for key, value in schema.items()}
    if isinstance(schema.get("required"), list) and isinstance(known := schema.get("properties", {}), dict):
        result["required"] = [name for name in schema["required"] if "default" not in known.get(name, {})]
    return result


def _as_written(result: Schema, schema: Schema) -> Schema:
    """Returns the strict schema with the values that the definition allows: integers as quantities, and nulls.

    Args:
        result: the strict schema.
        schema: the schema of the definition.
    """
    if result.get("format") == "quantity":
        return {**result, "type": ["string", "integer"]} if schema.get("x-kubernetes-int-or-string") is True else result
    if schema.get("nullable") is True and "type" in result:
        types = result["type"] if isinstance(result["type"], list) else [result["type"]]
        result = {**result, "type": [*types, "null"]}
        if "enum" in result:
            result["enum"] = [*result["enum"], None]
    if "properties" in result:
        own, known = schema.get("properties", {}), result["properties"]
        result["properties"] = {name: _as_written(child, own.get(name, {})) for name, child in known.items()}
    for word in ("items", "additionalProperties"):
        if isinstance(result.get(word), dict) and isinstance(schema.get(word), dict):
            result[word] = _as_written(result[word], schema[word])
    return result


def _require_replicas(result: Schema, replicas: list[str]) -> None:
    for step in replicas:
        result = result.get("properties", {}).get(step, {})
    if result.get("type") == "integer":
        result["minimum"] = max(0, result.get("minimum", 0))


def _rules(schema: Schema) -> Schema:
    """Returns the CEL rules of a schema as a tree of its fields. Fields without rules are left out."""
    own = [_rule(rule) for rule in schema.get(_RULES, [])]
    return _tree(schema, {"rules": own} if own else {}, _rules)


def _formats(schema: Schema) -> Schema:
    """Returns the tree of the formats of strings that have another type in CEL."""
    has_format = schema.get("type") == "string" and schema.get("format") in FORMATS
    return _tree(schema, {"format": schema["format"]} if has_format else {}, _formats)


def _tree(schema: Schema, result: Schema, tree_of: Callable[[Schema], Schema]) -> Schema:
    """Adds the trees of a schema's properties, items and additionalProperties to `result`, and returns `result`.

    Args:
        result: the rules or the format of the schema itself.
        tree_of: returns the tree of a child schema. Empty trees are left out.
    """
    below = {name: tree for name, child in schema.get("properties", {}).items() if (tree := tree_of(child))}
    if below:
        result["properties"] = below
    for word in ("items", "additionalProperties"):
        child = schema.get(word)
        if isinstance(child, dict) and (tree := tree_of(child)):
            result[word] = tree
    return result


def _rule(rule: Any) -> Schema:
    if not isinstance(_map(rule, "a rule").get("rule"), str):
        raise ValueError(f"an entry of {_RULES} has no rule")
    fields = {key: rule[key] for key in _RULE_FIELDS if key in rule}
    return {key: value for key, value in fields.items() if isinstance(value, (str, bool))}


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

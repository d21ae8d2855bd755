"""A cluster's own custom kinds: CustomResourceDefinitions to compact tables, and objects judged by them."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from compiler.catalog.schemas import Table
from compiler.catalog.schemas.sharing import shared
from compiler.catalog.schemas.structural import Schema, strict
from compiler.lint.own_values import FORMATS
from compiler.manifest import Manifest
from compiler.usage import UsageError
from compiler.verify.flaw import Flaw
from compiler.verify.metadata import verify_metadata
from compiler.verify.mismatch import Fit, mismatches, validator
from compiler.verify.schema import MISSING_FIELD, UNKNOWN_FIELD, WRONG_VALUE, with_numbers

_FAULTS = {Fit.UNKNOWN: UNKNOWN_FIELD, Fit.VALUE: WRONG_VALUE, Fit.MISSING: MISSING_FIELD}
_APART = frozenset(("apiVersion", "kind", "metadata", "status"))
_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")
_KIND = re.compile(r"[A-Za-z][A-Za-z0-9]{0,62}")
_RULES = "x-kubernetes-validations"
_WORDS_OF_A_RULE = ("rule", "message", "messageExpression", "fieldPath", "optionalOldSelf")
_MAPS_OF_SCHEMAS, _LISTS_OF_SCHEMAS = ("properties", "patternProperties"), ("allOf", "anyOf", "oneOf")


@dataclass(frozen=True, slots=True)
class Import:
    """One served version of one kind, as a table of the user's repository."""

    file: str
    """Relative to the folder of all tables: "karpenter.sh/NodePool_v1.json"."""
    text: str
    rules: int
    """How many CEL rules the table has."""

    def each_rule(self) -> Iterator[Schema]:
        """All of its rules."""
        return _each_rule(json.loads(self.text).get("rules", {}))


def imports(definition: Any) -> Iterator[Import]:
    """The tables of a CustomResourceDefinition, one for each version that it serves.

    Args:
        definition: a document of kind CustomResourceDefinition.

    Raises:
        ValueError: when it is none that an API server would take; the text says why.
    """
    spec = _map(_map(definition, "the document").get("spec"), "spec")
    names = _map(spec.get("names"), "spec.names")
    group, kind, plural = spec.get("group"), names.get("kind"), names.get("plural")
    if not _is(_NAME, group) or not _is(_KIND, kind) or not _is(_NAME, plural):
        raise ValueError("spec.group, spec.names.kind and spec.names.plural are not all names")
    versions = spec.get("versions")
    if definition.get("apiVersion") != "apiextensions.k8s.io/v1" or not isinstance(versions, list):
        raise ValueError("only apiextensions.k8s.io/v1 is read, which has spec.versions")
    for version in versions:
        if not _is(_NAME, _map(version, "a version").get("name")):
            raise ValueError("a version has no name")
        if version.get("served") is not False:
            schema = _map(version.get("schema"), f"the schema of {version['name']}").get("openAPIV3Schema")
            table = {"plural": plural, "namespaced": spec.get("scope") == "Namespaced", **_table(schema)}
            text = json.dumps(table, sort_keys=True, separators=(",", ":")) + "\n"
            count = sum(1 for _ in _each_rule(table.get("rules", {})))
            yield Import(f"{group}/{kind}_{version['name']}.json", text, count)


def own_table(folder: Path, api: str, kind: str) -> Table | None:
    """The table of a kind that was imported into a folder; None where there is none.

    Raises:
        UsageError: when the table's file is not what the import wrote.
    """
    found = _read(folder, api, kind)
    return found[0] if found else None


def own_flaws(folder: Path, manifests: Sequence[Manifest], unjudged: Counter[str]) -> Iterator[Flaw]:
    """What the tables of a folder and their rules say against objects; kinds without a table are passed over.

    Args:
        folder: what `gpuc crds import` wrote.
        unjudged: takes a sentence for every rule that could not be evaluated.
    """
    for manifest in manifests:
        known = _read(folder, manifest.api, manifest.kind)
        if known is None:
            continue
        table, rules, shapes = known
        broken = False
        for item in mismatches(_compiled(folder, table.api, table.kind), manifest.body, table.schema):
            if item.fit is not Fit.QUANTITY:  # how Kubernetes would print a quantity is nobody's mistake
                broken = True
                on_key = item.fit is Fit.UNKNOWN
                yield Flaw(_FAULTS[item.fit], manifest, item.path, item.message, item.fix, on_key)
        yield from verify_metadata(manifest, namespaced=table.namespaced, as_written=True)
        if rules and not broken:  # as the API server does: rules read nothing that has another shape
            from compiler.lint.own_rules import broken_rules

            yield from broken_rules(manifest, table.schema, rules, shapes, unjudged)


@lru_cache(maxsize=4096)
def _read(folder: Path, api: str, kind: str) -> tuple[Table, Schema, Schema] | None:
    """A table, its rules and its shapes.

    Raises:
        UsageError: when the file is not what the import wrote.
    """
    group, _, version = api.rpartition("/")
    if not (_is(_NAME, group) and _is(_NAME, version) and _is(_KIND, kind)):
        return None
    path = folder / group / f"{kind}_{version}.json"
    if not path.is_file():
        return None
    try:
        read = json.loads(path.read_text(encoding="utf-8"))
        table = Table(group, version, kind, read["plural"], read["namespaced"], read["schema"])
        return table, read.get("rules", {}), read.get("shapes", {})
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{path} is no table that `gpuc crds import` wrote: {error}") from error


@lru_cache(maxsize=4096)
def _compiled(folder: Path, api: str, kind: str) -> Any:
    table = own_table(folder, api, kind)
    assert table is not None
    return validator(table.schema)


def _table(schema: Any) -> Schema:
    """The strict schema of everything beside apiVersion, kind, metadata and status, and the tree of its rules.

    Raises:
        ValueError: when the schema is not structural, or has what no validator can read.
    """
    _require_structural(schema, "openAPIV3Schema")
    properties = {name: child for name, child in schema.get("properties", {}).items() if name not in _APART}
    body = {**schema, "type": "object", "properties": properties}
    body["required"] = [name for name in schema.get("required", []) if name not in _APART]
    closed: Schema = shared(with_numbers(strict(_with_embedded(body))))
    try:
        validator(closed)
    except ValueError as error:
        raise ValueError(f"its schema cannot be used: {str(error).splitlines()[0]}") from error
    rules = _rules(body)
    trees = {"rules": rules, "shapes": _shapes(body) if rules else {}}
    return {"schema": closed, **{word: tree for word, tree in trees.items() if tree}}


def _require_structural(schema: Any, where: str) -> None:
    """Refuses what is no schema at any place, so that nothing behind it has to expect one."""
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
        raise ValueError(f"{where} has a type or a pattern that is no text")


def _with_embedded(schema: Schema) -> Schema:
    """The schema, in which embedded objects have their own kind and metadata."""
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


def _rules(schema: Schema) -> Schema:
    """The rules of a schema as a tree of places: only branches that lead to rules, those of allOf at their places."""
    own = [_rule(each) for each in schema.get(_RULES, [])]
    made = _tree(schema, {"rules": own} if own else {}, _rules)
    for branch in schema.get("allOf", []):
        made = _merged(made, _rules(branch))
    return made


def _shapes(schema: Schema) -> Schema:
    """The places whose texts rules do not see as text, as a tree of the same form."""
    is_shaped = schema.get("type") == "string" and schema.get("format") in FORMATS
    return _tree(schema, {"format": schema["format"]} if is_shaped else {}, _shapes)


def _tree(schema: Schema, made: Schema, of: Callable[[Schema], Schema]) -> Schema:
    """What is known of a schema itself, with what is known of the places below, where that is anything."""
    below = {name: found for name, child in schema.get("properties", {}).items() if (found := of(child))}
    if below:
        made["properties"] = below
    for word in ("items", "additionalProperties"):
        child = schema.get(word)
        if isinstance(child, dict) and (found := of(child)):
            made[word] = found
    return made


def _merged(one: Schema, other: Schema) -> Schema:
    made = {**one, **other}
    if "rules" in one and "rules" in other:
        made["rules"] = [*one["rules"], *other["rules"]]
    for word in ("items", "additionalProperties"):
        if word in one and word in other:
            made[word] = _merged(one[word], other[word])
    if "properties" in one and "properties" in other:
        shared_names = one["properties"].keys() & other["properties"].keys()
        both = {name: _merged(one["properties"][name], other["properties"][name]) for name in sorted(shared_names)}
        made["properties"] = {**one["properties"], **other["properties"], **both}
    return made


def _rule(rule: Any) -> Schema:
    if not isinstance(_map(rule, "a rule").get("rule"), str):
        raise ValueError(f"an entry of {_RULES} has no rule")
    kept = {word: rule[word] for word in _WORDS_OF_A_RULE if word in rule}
    return {word: value for word, value in kept.items() if isinstance(value, (str, bool))}


def _each_rule(rules: Schema) -> Iterator[Schema]:
    yield from rules.get("rules", ())
    for below in (*rules.get("properties", {}).values(), rules.get("items"), rules.get("additionalProperties")):
        if below:
            yield from _each_rule(below)


def _map(value: Any, what: str) -> Schema:
    if not isinstance(value, dict):
        raise ValueError(f"{what} is no map")
    return value


def _list(value: Any, what: str) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError(f"{what} is no list")
    return value


def _is(pattern: re.Pattern[str], value: Any) -> bool:
    return isinstance(value, str) and pattern.fullmatch(value) is not None

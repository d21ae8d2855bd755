"""The CEL rules of CustomResourceDefinitions, evaluated over objects as the API server does when they are created.

Source: k8s.io/apiextensions-apiserver v0.35 pkg/apiserver/schema/cel (validation.go, maplist.go, values.go)
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from copy import deepcopy
from functools import cache
from importlib import import_module
from typing import Any

from compiler.catalog.schemas.structural import Schema
from compiler.finding import Path, Severity, fault
from compiler.manifest import Manifest
from compiler.verify.flaw import Flaw

BROKEN_RULE = fault(
    "CRD001",
    Severity.ERROR,
    "An object breaks a rule of its CustomResourceDefinition.",
    "The API server refuses the object.",
    "https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#validation-rules",
)
MISSING_ENGINE = "cel-expr-python is not installed: pip install cel-expr-python"
_OF_CHANGES = re.compile(r"\boldSelf\b")
"""Such a rule compares with what was there before, and holds for nothing that is new."""
_GENUINE = ("NOT_FOUND", "Index error", "cannot convert", "divide by zero")
"""Errors of the object; all others are of our way to ask."""
_KEYWORDS = frozenset(
    (
        "true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function", "if", "import",
        "let", "loop", "package", "namespace", "return", "var", "void", "while",
    )
)  # fmt: skip
_ESCAPES = (("__", "__underscores__"), (".", "__dot__"), ("-", "__dash__"), ("/", "__slash__"))
_STEP = re.compile(r"\.([A-Za-z_][A-Za-z0-9_]*)|\['((?:[^'\\]|\\.)*)'\]")


def broken_rules(manifest: Manifest, schema: Schema, rules: Schema, unjudged: Counter[str]) -> Iterator[Flaw]:
    """The rules that an object breaks, each at its place.

    Args:
        schema: of the object's body; the object fits it.
        rules: tree of places with the keys rules, properties, items and additionalProperties.
    """
    if _environment() is None:
        unjudged[f"the rules of {manifest.api} {manifest.kind}: {MISSING_ENGINE}"] += 1
        return
    whole = _defaulted(manifest.body, schema, schema)
    named = {"apiVersion": manifest.api, "kind": manifest.kind, "metadata": {"name": manifest.name}}
    root = {**_as_cel(whole, schema, schema), **named}
    for path, place, value in _places(root, rules, ()):
        for rule in place["rules"]:
            if not _OF_CHANGES.search(rule["rule"]):
                yield from _judged(manifest, path, rule, value, unjudged)


def _judged(manifest: Manifest, path: Path, rule: Schema, value: Any, unjudged: Counter[str]) -> Iterator[Flaw]:
    verdict, error = _evaluated(rule["rule"], value)
    if error and not any(word in error for word in _GENUINE):
        unjudged[f"a rule of {manifest.api} {manifest.kind}, {rule['rule']}: {error}"] += 1
    elif error or verdict is not True:
        text = _message(rule, value) + (f" ({error})" if error else "")
        yield Flaw(BROKEN_RULE, manifest, (*path, *_steps(rule.get("fieldPath", ""))), text)


def _message(rule: Schema, value: Any) -> str:
    """As the API server puts it: the expression's text, else the rule's message, else the rule."""
    if "messageExpression" in rule:
        text, error = _evaluated(rule["messageExpression"], value)
        if not error and isinstance(text, str) and text.strip() and "\n" not in text:
            return text.strip()
    return str(rule.get("message") or f"failed rule: {rule['rule'].strip()}").strip()


def _evaluated(expression: str, value: Any) -> tuple[Any, str]:
    """What an expression gives for `self`, and the error where it gives none."""
    compiled = _compiled(expression)
    if isinstance(compiled, str):
        return None, compiled
    try:
        result = compiled.eval(data={"self": value})
    except (RuntimeError, ValueError, TypeError, OverflowError) as error:
        return None, _first_line(error)
    kind = result.type().name()
    if kind not in ("BOOL", "STRING", "ERROR"):  # plain_value() of null takes a reference too many from None
        return None, f"it gives a {kind}"
    told = result.plain_value()
    return (None, _first_line(told)) if kind == "ERROR" else (told, "")


def _first_line(error: object) -> str:
    return (str(error).strip().splitlines() or [""])[0]


@cache
def _compiled(expression: str) -> Any:
    """The compiled expression; a text that says why there is none."""
    try:
        return _environment().compile(expression)
    except RuntimeError as error:
        return _first_line(error)


@cache
def _environment() -> Any:
    """CEL with what Kubernetes adds to it, as far as rules use it; None where the package is missing."""
    try:
        cel = import_module("cel_expr_python.cel")
        strings, optional = (import_module(f"cel_expr_python.ext.ext_{name}") for name in ("strings", "optional"))
    except ImportError:
        return None
    from compiler.lint.own_functions import functions

    extensions = [strings.ExtStrings(), optional.ExtOptional()]
    return cel.NewEnv(variables={"self": cel.Type.DYN}, extensions=extensions, functions=functions(cel))


def _places(value: Any, rules: Schema, path: Path) -> Iterator[tuple[Path, Schema, Any]]:
    """Every value of an object that has rules."""
    if "rules" in rules:
        yield path, rules, value
    if isinstance(value, dict):
        for name, below in rules.get("properties", {}).items():
            if (key := _escaped(name)) in value:
                yield from _places(value[key], below, (*path, name))
        if "additionalProperties" in rules:
            for name, child in value.items():
                yield from _places(child, rules["additionalProperties"], (*path, name))
    elif isinstance(value, list) and "items" in rules:
        for index, child in enumerate(value):
            yield from _places(child, rules["items"], (*path, index))


def _defaulted(value: Any, schema: Any, root: Schema) -> Any:
    """A copy of a value with the defaults of its schema, as the API server sets them before it validates."""
    schema = _resolved(schema, root)
    if isinstance(value, dict):
        known, others = schema.get("properties", {}), schema.get("additionalProperties")
        made = {key: _defaulted(child, known.get(key, others), root) for key, child in value.items()}
        for name, child in known.items():
            if name not in made and (default := _resolved(child, root).get("default")) is not None:
                made[name] = _defaulted(deepcopy(default), child, root)
        return made
    if isinstance(value, list):
        return [_defaulted(child, schema.get("items"), root) for child in value]
    return value


def _as_cel(value: Any, schema: Any, root: Schema) -> Any:
    """A value as rules see it: fields under names that CEL can write, numbers of type number as doubles."""
    schema = _resolved(schema, root)
    if isinstance(value, dict):
        known, others = schema.get("properties", {}), schema.get("additionalProperties")
        return {
            _escaped(key) if key in known else key: _as_cel(child, known.get(key, others), root)
            for key, child in value.items()
        }
    if isinstance(value, list):
        return [_as_cel(child, schema.get("items"), root) for child in value]
    if schema.get("type") == "number" and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    return value


def _resolved(schema: Any, root: Schema) -> Schema:
    while isinstance(schema, dict) and "$ref" in schema:
        schema = root["$defs"][schema["$ref"].rpartition("/")[2]]
    return schema if isinstance(schema, dict) else {}


@cache
def _escaped(name: str) -> str:
    """The name of a field in CEL.

    Source: k8s.io/apiserver v0.35 pkg/cel/escaping.go
    """
    if name in _KEYWORDS:
        return f"__{name}__"
    for text, escape in _ESCAPES:
        name = name.replace(text, escape) if text != "__" or "__" in name else name
    return name


def _steps(field_path: str) -> Path:
    """The steps of a rule's fieldPath: ".spec.x" or ".spec['a.b']"; none where it is written otherwise."""
    found, at = [], 0
    for match in _STEP.finditer(field_path):
        if match.start() != at:
            return ()
        at = match.end()
        found.append(match[1] or match[2].replace("\\'", "'"))
    return tuple(found) if at == len(field_path) else ()

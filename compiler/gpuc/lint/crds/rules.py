"""The CEL rules of CustomResourceDefinitions, evaluated over objects as the API server does when they are created.

What evaluation costs is not checked: an API server stops where evaluation of one object becomes too expensive.

Source: k8s.io/apiextensions-apiserver v0.35 pkg/apiserver/schema/cel (validation.go, compilation.go)
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from gpuc.catalog.schemas.structural import Schema
from gpuc.cel.program import Failed, NotEvaluated, Value, compiled
from gpuc.diagnostics.finding import Path, Severity, declare_rule
from gpuc.lint.crds.values import as_rules_see, escaped
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_finding import ObjectFinding, place

BROKEN_RULE = declare_rule(
    "CRD001",
    Severity.ERROR,
    "An object breaks a rule of its CustomResourceDefinition.",
    "The API server refuses the object.",
    "https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#validation-rules",
)
_VARIABLES = ("self",)
_OF_A_MAP = re.compile(r"overload.*\bmap\b")
"""An error which a point or a span of time may have, that is a map to the engine: Kubernetes may have none."""
_LONGEST_MESSAGE = 5 * 1024
"""Bytes: of a longer text of a messageExpression the API server takes the rule's message."""
_STEP = re.compile(r"\.([A-Za-z_][A-Za-z0-9_]*)|\['((?:[^'\\]|\\.)*)'\]")


def broken_rules(
    manifest: Manifest, schema: Schema, rules: Schema, shapes: Schema, unjudged: Counter[str]
) -> Iterator[ObjectFinding]:
    """The rules that an object breaks, each at its place.

    Args:
        schema: of the object's body; the object fits it.
        rules: tree of places with the keys rules, properties, items and additionalProperties.
        shapes: tree of the places whose texts rules do not see as text.
        unjudged: takes a sentence for every rule that is not evaluated.
    """
    try:
        whole = as_rules_see(manifest.body, schema, shapes)
    except ValueError as error:
        unjudged[f"the rules of {manifest}: {error}"] += 1
        return
    named = {"apiVersion": manifest.api, "kind": manifest.kind, "metadata": {"name": manifest.name}}
    for path, here, value in _places({**whole, **named}, rules, ()):
        for rule in filter(_holds_for_new, here["rules"]):
            answer = _answer(rule, "rule", value)
            if shapes and isinstance(answer, Failed) and _OF_A_MAP.search(answer.why):
                answer = NotEvaluated(answer.why)
            if isinstance(answer, Failed) or answer == Value(False):
                why = f" ({answer.why})" if isinstance(answer, Failed) else ""
                where = (*path, *_steps(rule.get("fieldPath", "")))
                yield ObjectFinding(BROKEN_RULE, manifest, where, _message(rule, value) + why)
            elif answer != Value(True):
                unjudged[_gap(manifest, path, rule, answer)] += 1


def never_evaluated(rule: Schema) -> str:
    """Why a rule is evaluated for no object; empty where it is, and for a rule about changes."""
    if not _holds_for_new(rule):
        return ""
    program = compiled(_text(rule, "rule"), _VARIABLES)
    return program.why if isinstance(program, NotEvaluated) else ""


def _holds_for_new(rule: Schema) -> bool:
    """Whether a rule holds for something new: others compare with what was there before."""
    if not rule["rule"].strip():
        return False
    program = compiled(_text(rule, "rule"), _VARIABLES)
    return not (isinstance(program, NotEvaluated) and "oldSelf" in program.names)


def _text(rule: Schema, key: str) -> str:
    """An expression of a rule; with optionalOldSelf it may ask for oldSelf, which a new object lacks."""
    text: str = rule[key]
    return f"cel.bind(oldSelf, optional.none(), {text}\n)" if rule.get("optionalOldSelf") is True else text


def _answer(rule: Schema, key: str, value: Any) -> Value | Failed | NotEvaluated:
    program = compiled(_text(rule, key), _VARIABLES)
    return program if isinstance(program, NotEvaluated) else program.evaluate({"self": value})


def _gap(manifest: Manifest, path: Path, rule: Schema, answer: Value | NotEvaluated) -> str:
    """Which rule is not evaluated and why; without the object where that holds for all objects."""
    why = answer.why if isinstance(answer, NotEvaluated) else "it is neither true nor false"
    owner = f"{manifest.api} {manifest.kind}" if never_evaluated(rule) else f"{manifest} at {place(path) or 'its root'}"
    return f"a rule of {owner}, {rule['rule'].strip()}: {why}"


def _message(rule: Schema, value: Any) -> str:
    """As the API server puts it: the expression's text, else the rule's message, else the rule."""
    answer = _answer(rule, "messageExpression", value) if rule.get("messageExpression") else None
    if isinstance(answer, Value) and isinstance(answer.value, str):
        text = answer.value.strip()
        if text and "\n" not in text and len(text.encode()) <= _LONGEST_MESSAGE:
            return text
    return str(rule.get("message") or f"failed rule: {rule['rule'].strip()}").strip()


def _places(value: Any, rules: Schema, path: Path) -> Iterator[tuple[Path, Schema, Any]]:
    """Every value of an object that has rules; a null has none."""
    if value is None:
        return
    if "rules" in rules:
        yield path, rules, value
    if isinstance(value, dict):
        for name, below in rules.get("properties", {}).items():
            if (key := escaped(name)) in value:
                yield from _places(value[key], below, (*path, name))
        if "additionalProperties" in rules:
            for name, child in value.items():
                yield from _places(child, rules["additionalProperties"], (*path, name))
    elif isinstance(value, list) and "items" in rules:
        for index, child in enumerate(value):
            yield from _places(child, rules["items"], (*path, index))


def _steps(field_path: str) -> Path:
    """The steps of a rule's fieldPath: ".spec.x" or ".spec['a.b']"; none where it is written otherwise."""
    found, at = [], 0
    for match in _STEP.finditer(field_path):
        if match.start() != at:
            return ()
        at = match.end()
        found.append(match[1] or match[2].replace("\\'", "'"))
    return tuple(found) if at == len(field_path) else ()

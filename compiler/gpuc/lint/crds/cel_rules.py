"""Evaluates the CEL rules of CustomResourceDefinitions, as the API server does when it creates an object.

The cost limit of the API server, which refuses an object whose rules are too expensive to evaluate, is not checked.

Source: k8s.io/apiextensions-apiserver v0.35 pkg/apiserver/schema/cel (validation.go, compilation.go)
"""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from gpuc.catalog.schemas.structural import Schema
from gpuc.cel.program import Failed, NotEvaluated, Value, compiled
from gpuc.diagnostics.finding import Path
from gpuc.diagnostics.place import place
from gpuc.lint import rule_of
from gpuc.lint.crds.cel_values import cel_value, escaped
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_finding import ObjectFinding

BROKEN_RULE = rule_of("CRD001")
_VARIABLES = ("self",)
_MAP_ERROR = re.compile(r"overload.*\bmap\b")
"""An error about the type of a map. The error may be wrong, because gpuc represents timestamps and
durations as maps, and Kubernetes does not."""
_LONGEST_MESSAGE = 5 * 1024
"""The limit in bytes for the text of a messageExpression. For a longer text, the API server uses the rule's message."""
_STEP = re.compile(r"\.([A-Za-z_][A-Za-z0-9_]*)|\['((?:[^'\\]|\\.)*)'\]")


def broken_rules(
    manifest: Manifest, schema: Schema, rules: Schema, formats: Schema, unchecked: Counter[str]
) -> Iterator[ObjectFinding]:
    """Yields findings about the CEL rules that an object violates.

    Args:
        schema: the schema of the object's body. The object must fit the schema.
        rules: the rules, in a tree with the keys rules, properties, items and additionalProperties.
        formats: the formats of strings that have another type in CEL, in a tree with the same keys.
        unchecked: a counter. For each rule that gpuc cannot evaluate, the function adds a sentence to it.
    """
    try:
        body = cel_value(manifest.body, schema, formats)
    except ValueError as error:
        unchecked[f"the CEL rules of {manifest}: {error}"] += 1
        return
    named = {"apiVersion": manifest.api, "kind": manifest.kind, "metadata": {"name": manifest.name}}
    for path, rules_here, value in _values_with_rules({**body, **named}, rules, ()):
        for rule in filter(_applies_to_create, rules_here):
            result = _evaluate(rule, "rule", value)
            if formats and isinstance(result, Failed) and _MAP_ERROR.search(result.why):
                result = NotEvaluated(result.why)
            if isinstance(result, Failed) or result == Value(False):
                error_text = f" ({result.why})" if isinstance(result, Failed) else ""
                field_path = (*path, *_steps(rule.get("fieldPath", "")))
                yield ObjectFinding(BROKEN_RULE, manifest, field_path, _message(rule, value) + error_text)
            elif result != Value(True):
                unchecked[_not_evaluated(manifest, path, rule, result)] += 1


def never_evaluated(rule: Schema) -> str:
    """Returns why gpuc can never evaluate a CEL rule; an empty string if gpuc can evaluate the rule.

    The result is also empty for transition rules, which the API server applies only to updates.
    """
    if not _applies_to_create(rule):
        return ""
    program = compiled(_text(rule, "rule"), _VARIABLES)
    return program.why if isinstance(program, NotEvaluated) else ""


def _applies_to_create(rule: Schema) -> bool:
    """Returns whether the API server evaluates a rule on create. Transition rules (oldSelf) apply to updates."""
    if not rule["rule"].strip():
        return False
    program = compiled(_text(rule, "rule"), _VARIABLES)
    return not (isinstance(program, NotEvaluated) and "oldSelf" in program.names)


def _text(rule: Schema, key: str) -> str:
    """Returns the text of a rule's expression. With optionalOldSelf, oldSelf is an empty optional for a new object."""
    text: str = rule[key]
    return f"cel.bind(oldSelf, optional.none(), {text}\n)" if rule.get("optionalOldSelf") is True else text


def _evaluate(rule: Schema, key: str, value: Any) -> Value | Failed | NotEvaluated:
    program = compiled(_text(rule, key), _VARIABLES)
    return program if isinstance(program, NotEvaluated) else program.evaluate({"self": value})


def _not_evaluated(manifest: Manifest, path: Path, rule: Schema, result: Value | NotEvaluated) -> str:
    """Returns the sentence about a rule that is not evaluated.

    If gpuc cannot evaluate the rule for any object, the sentence names the kind, otherwise the object.
    """
    reason = result.why if isinstance(result, NotEvaluated) else "the result is neither true nor false"
    owner = f"{manifest.api} {manifest.kind}" if never_evaluated(rule) else f"{manifest} at {place(path) or 'its root'}"
    return f"a CEL rule of {owner}, {rule['rule'].strip()}: {reason}"


def _message(rule: Schema, value: Any) -> str:
    """Returns the message of the API server: the text of messageExpression, else the rule's message, else the rule."""
    result = _evaluate(rule, "messageExpression", value) if rule.get("messageExpression") else None
    if isinstance(result, Value) and isinstance(result.value, str):
        text = result.value.strip()
        if text and "\n" not in text and len(text.encode()) <= _LONGEST_MESSAGE:
            return text
    return str(rule.get("message") or f"failed rule: {rule['rule'].strip()}").strip()


def _values_with_rules(value: Any, rules: Schema, path: Path) -> Iterator[tuple[Path, list[Schema], Any]]:
    """Yields the path, the rules and the value of every field that has rules, except for nulls."""
    if value is None:
        return
    if "rules" in rules:
        yield path, rules["rules"], value
    if isinstance(value, dict):
        for name, below in rules.get("properties", {}).items():
            if (key := escaped(name)) in value:
                yield from _values_with_rules(value[key], below, (*path, name))
        if "additionalProperties" in rules:
            for name, child in value.items():
                yield from _values_with_rules(child, rules["additionalProperties"], (*path, name))
    elif isinstance(value, list) and "items" in rules:
        for index, child in enumerate(value):
            yield from _values_with_rules(child, rules["items"], (*path, index))


def _steps(field_path: str) -> Path:
    """Returns the steps of a rule's fieldPath: ".spec.x" or ".spec['a.b']"; an empty path for any other syntax."""
    steps, end = [], 0
    for match in _STEP.finditer(field_path):
        if match.start() != end:
            return ()
        end = match.end()
        steps.append(match[1] or match[2].replace("\\'", "'"))
    return tuple(steps) if end == len(field_path) else ()

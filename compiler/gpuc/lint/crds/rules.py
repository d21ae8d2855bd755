"""The CEL rules of CustomResourceDefinitions, evaluated over objects as the API server does when they are created.

What the rules cost is not judged: an API server stops where evaluation of one object becomes too expensive.

Source: k8s.io/apiextensions-apiserver v0.35 pkg/apiserver/schema/cel (validation.go, compilation.go)
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import Any

from gpuc.catalog.schemas.structural import Schema
from gpuc.diagnostics.finding import Path, Severity, fault
from gpuc.lint.crds.answers import Answer, Told
from gpuc.lint.crds.engines import engines
from gpuc.lint.crds.values import as_rules_see, escaped
from gpuc.manifest.manifest import Manifest
from gpuc.objects.flaw import Flaw, place

BROKEN_RULE = fault(
    "CRD001",
    Severity.ERROR,
    "An object breaks a rule of its CustomResourceDefinition.",
    "The API server refuses the object.",
    "https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#validation-rules",
)
MISSING_ENGINE = "cel-expr-python and common-expression-language are not both installed: pip install 'gpuc[crds]'"
_OF_CHANGES = re.compile(r"\boldSelf\b")
_LONGEST_MESSAGE = 5 * 1024
"""Bytes: of a longer text of a messageExpression the API server takes the rule's message."""
_STEP = re.compile(r"\.([A-Za-z_][A-Za-z0-9_]*)|\['((?:[^'\\]|\\.)*)'\]")


def broken_rules(
    manifest: Manifest, schema: Schema, rules: Schema, shapes: Schema, unjudged: Counter[str]
) -> Iterator[Flaw]:
    """The rules that an object breaks, each at its place.

    Args:
        schema: of the object's body; the object fits it.
        rules: tree of places with the keys rules, properties, items and additionalProperties.
        shapes: tree of the places whose texts rules do not see as text.
        unjudged: takes a sentence for every rule on which the two engines do not agree, or that one cannot evaluate.
    """
    if not can_judge():
        unjudged[f"the rules of {manifest.api} {manifest.kind}: {MISSING_ENGINE}"] += 1
        return
    try:
        whole = as_rules_see(manifest.body, schema, shapes)
    except ValueError as error:
        unjudged[f"the rules of {manifest}: {error}"] += 1
        return
    named = {"apiVersion": manifest.api, "kind": manifest.kind, "metadata": {"name": manifest.name}}
    for path, each, value in _places({**whole, **named}, rules, ()):
        asked = [rule for rule in each["rules"] if _is_asked(rule)]
        if asked:
            yield from _judged(manifest, path, asked, value, unjudged)


def can_judge() -> bool:
    """Whether both engines are there."""
    return bool(engines())


def unanswerable(rule: Schema) -> str:
    """Why a rule can never be judged: what each engine that cannot evaluate it says; empty where both can."""
    if not _is_asked(rule):
        return ""
    is_optional = rule.get("optionalOldSelf") is True
    said = ((engine.name, engine.refusal(rule["rule"], is_optional=is_optional)) for engine in engines())
    return "; ".join(f"{name}: {why}" for name, why in said if why)


def _is_asked(rule: Schema) -> bool:
    """Whether a rule holds for something new: others compare with what was there before."""
    return bool(rule["rule"].strip()) and (rule.get("optionalOldSelf") is True or not _is_of_changes(rule["rule"]))


@cache
def _is_of_changes(expression: str) -> bool:
    if not _OF_CHANGES.search(expression):
        return False
    known = [names for engine in engines() if (names := engine.names(expression)) is not None]
    return any("oldSelf" in names for names in known) or not known


def _judged(manifest: Manifest, path: Path, rules: list[Schema], value: Any, unjudged: Counter[str]) -> Iterator[Flaw]:
    try:
        bound = [engine.bound(value) for engine in engines()]
    except ValueError as error:
        unjudged[f"the rules of {manifest} at {place(path) or 'its root'}: {error}"] += len(rules)
        return
    for rule in rules:
        answers = [
            engine.ask(rule["rule"], self, is_optional=rule.get("optionalOldSelf") is True)
            for engine, self in zip(engines(), bound, strict=True)
        ]
        if all(answer.told is Told.VALUE and answer.value is True for answer in answers):
            continue
        if all(map(_refuses, answers)):
            why = f" ({answers[0].why})" if all(each.told is Told.FAILED for each in answers) else ""
            where = (*path, *_steps(rule.get("fieldPath", "")))
            yield Flaw(BROKEN_RULE, manifest, where, _message(rule, bound) + why)
        else:
            unjudged[_disagreement(manifest, path, rule, answers)] += 1


def _refuses(answer: Answer) -> bool:
    return answer.told is Told.FAILED or (answer.told is Told.VALUE and answer.value is False)


def _disagreement(manifest: Manifest, path: Path, rule: Schema, answers: list[Answer]) -> str:
    """What the engines say; of what they always say, without the object."""
    said = "; ".join(f"{engine.name}: {answer}" for engine, answer in zip(engines(), answers, strict=True))
    if why := unanswerable(rule):
        return f"a rule of {manifest.api} {manifest.kind}, {rule['rule'].strip()}: {why}"
    return f"a rule of {manifest} at {place(path) or 'its root'}, {rule['rule'].strip()}: {said}"


def _message(rule: Schema, bound: list[Any]) -> str:
    """As the API server puts it: the expression's text, else the rule's message, else the rule."""
    expression = rule.get("messageExpression", "")
    for engine, self in zip(engines(), bound, strict=True) if expression else ():
        answer = engine.ask(expression, self, is_optional=rule.get("optionalOldSelf") is True)
        if answer.told is Told.VALUE and isinstance(answer.value, str):
            text = answer.value.strip()
            if text and "\n" not in text and len(text.encode()) <= _LONGEST_MESSAGE:
                return text
            break
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

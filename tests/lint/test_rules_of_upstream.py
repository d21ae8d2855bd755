"""The CEL rules of upstream CRDs, evaluated on objects that are generated for every rule."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from gpuc.catalog.schemas.schema_errors import validator
from gpuc.cel.program import NotEvaluated, Value
from gpuc.lint.crds import cel_rules as crd_rules
from gpuc.lint.crds.cel_values import cel_value
from tests.lint.rule_objects import Maker, spots

LEAST, MOST = 4, 24
"""Objects per rule. After the minimum, generation stops when the rule has accepted one object and refused one."""
Answers = dict[tuple[str, str], Counter[str]]


@pytest.fixture(scope="module")
def answers(upstream: Path) -> Answers:
    """The results of every rule of every kind: objects accepted, refused, and not evaluated."""
    found: Answers = defaultdict(Counter)
    for path in sorted(upstream.rglob("*.json")):
        table = json.loads(path.read_text())
        kind = f"{path.parent.name}/{path.stem}"
        maker, compiled = Maker(table["schema"], 1), validator(table["schema"])
        for spot in spots(table.get("rules", {})):
            if not crd_rules._applies_to_create(spot.rule):
                continue
            counts = found[kind, spot.rule["rule"]]
            for number in range(MOST):
                if number >= LEAST and counts["passed"] and counts["refused"]:
                    break
                body = maker.body(spot)
                if compiled.is_valid(body):
                    with suppress(ValueError):  # a text of a format whose value is not known exactly: lint reports it
                        for rule, answer in answered(body, maker.name(spot), table):
                            found[kind, rule][answer] += 1
    return found


def answered(body: dict[str, Any], name: str, table: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Every rule that an object meets, and its answer."""
    body_value = cel_value(body, table["schema"], table.get("shapes", {}))
    root = {**body_value, "apiVersion": "x/v1", "kind": "X", "metadata": {"name": name}}
    for _, rules, value in crd_rules._values_with_rules(root, table["rules"], ()):
        for rule in filter(crd_rules._applies_to_create, rules):
            answer = crd_rules._evaluate(rule, "rule", value)
            known = "passed" if answer == Value(True) else "refused"
            yield rule["rule"], "not evaluated" if isinstance(answer, NotEvaluated) else known


@pytest.mark.slow
def test_every_rule_is_evaluated_for_every_object(answers: Answers) -> None:
    assert answers
    assert {key: counts for key, counts in answers.items() if counts["not evaluated"]} == {}


@pytest.mark.slow
def test_most_rules_accept_one_object_and_refuse_another(answers: Answers) -> None:
    """The other rules need nested lists with special texts, or a status, which users do not create."""
    unmet = {key for key, counts in answers.items() if not (counts["passed"] or counts["refused"])}
    both = [key for key, counts in answers.items() if counts["passed"] and counts["refused"]]
    assert unmet == set()
    assert len(both) > 0.85 * len(answers)

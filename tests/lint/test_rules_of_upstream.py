"""Both engines over upstream's own rules, on objects that are made around each of them."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from gpuc.lint.crds import rules as own_rules
from gpuc.lint.crds.answers import Answer, Told
from gpuc.lint.crds.engines import engines
from gpuc.lint.crds.values import as_rules_see
from gpuc.verify.mismatch import validator
from tests.lint.rule_objects import Maker, spots

LEAST, MOST = 4, 24
"""Objects around each rule: more than the least only until it has passed and refused one."""
Verdicts = dict[tuple[str, str], Counter[str]]


@pytest.fixture(scope="module")
def verdicts(upstream: Path) -> Verdicts:
    """How often the engines said what of each rule of each kind."""
    found: Verdicts = defaultdict(Counter)
    for path in sorted(upstream.rglob("*.json")):
        table = json.loads(path.read_text())
        kind = f"{path.parent.name}/{path.stem}"
        maker, compiled = Maker(table["schema"], 1), validator(table["schema"])
        for spot in spots(table.get("rules", {})):
            seen = found[kind, spot.rule["rule"]]
            if not own_rules._is_asked(spot.rule):
                seen["not asked"] += 1
                continue
            for number in range(MOST):
                if number >= LEAST and seen["passed"] and seen["refused"]:
                    break
                body = maker.body(spot)
                if compiled.is_valid(body):
                    with suppress(ValueError):  # a text of a format whose value is not known exactly: lint reports it
                        for rule, said in judged(body, maker.name(spot), table):
                            found[kind, rule][said] += 1
    return found


def judged(body: dict[str, Any], name: str, table: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Every rule that an object meets, and what the engines say of it."""
    whole = as_rules_see(body, table["schema"], table.get("shapes", {}))
    root = {**whole, "apiVersion": "x/v1", "kind": "X", "metadata": {"name": name}}
    for _, place, value in own_rules._places(root, table["rules"], ()):
        bound = [engine.bound(value) for engine in engines()]
        for rule in place["rules"]:
            if own_rules._is_asked(rule):
                asked = zip(engines(), bound, strict=True)
                yield rule["rule"], said([engine.ask(rule["rule"], self, is_optional=False) for engine, self in asked])


def said(answers: list[Answer]) -> str:
    """What the engines say in one word."""
    if all(answer == Answer(Told.VALUE, True) for answer in answers):
        return "passed"
    return "refused" if all(map(own_rules._refuses, answers)) else "parted"


@pytest.mark.slow
def test_the_engines_agree_on_every_rule_of_upstream_in_all_objects(verdicts: Verdicts) -> None:
    assert {key: seen for key, seen in verdicts.items() if seen["parted"]} == {}
    assert sum(seen["refused"] for seen in verdicts.values()) > 5000
    assert sum(seen["passed"] for seen in verdicts.values()) > 50000


@pytest.mark.slow
def test_nearly_every_rule_passes_one_object_and_refuses_another(verdicts: Verdicts) -> None:
    """The rest needs lists in lists of just the right texts, or a status, which nobody creates."""
    asked = {key: seen for key, seen in verdicts.items() if not seen["not asked"]}
    unmet = {key for key, seen in asked.items() if not (seen["passed"] or seen["refused"])}
    both = [key for key, seen in asked.items() if seen["passed"] and seen["refused"]]
    assert unmet == set()
    assert len(both) > 0.85 * len(asked) > 300

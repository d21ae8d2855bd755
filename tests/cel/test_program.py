"""gpuc evaluates the CEL expressions of library policies and CRDs, and names functions that it cannot evaluate."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from cel_expr_python import cel

from gpuc.cel.functions import declared
from gpuc.cel.program import Failed, NotEvaluated, Program, Value, compiled
from gpuc.cli.main import run_command
from tests.derive.policies import SOURCES

ADMISSION = ("object", "oldObject", "request", "variables")


def answer(expression: str, value: Any = None) -> Value | Failed | NotEvaluated:
    program = compiled(expression, ("self",))
    return program if isinstance(program, NotEvaluated) else program.evaluate({"self": value})


def of_policies() -> list[str]:
    documents = [yaml.safe_load(path.read_text(encoding="utf-8")) for path in sorted(SOURCES.glob("*/policy.yaml"))]
    subjects = yaml.safe_load((SOURCES / "subjects.yaml").read_text(encoding="utf-8"))
    texts = [text for document in (*documents, *subjects.values()) for text in document.get("variables", {}).values()]
    return texts + [
        rule[key]
        for document in documents
        for rule in document["validations"]
        for key in rule
        if key.endswith("xpression")
    ]


def of_definitions(shared: Path, folder: Path) -> list[str]:
    """Rules for new objects of all definitions of the reference data, and their messages."""
    found: dict[str, None] = {}
    for program in sorted(Path(shared, "upstream/crds").iterdir()):
        assert run_command(["crds", "import", str(program), "--into", str(folder / program.name)]) == 0
    for path in sorted(folder.rglob("*.json")):
        found |= dict.fromkeys(expressions(json.loads(path.read_text()).get("rules", {})))
    return [text for text in found if not re.search(r"\boldSelf\b", text)]


def expressions(tree: dict[str, Any]) -> Iterator[str]:
    for rule in tree.get("rules", ()):
        yield from (rule[key] for key in ("rule", "messageExpression") if key in rule)
    for below in (*tree.get("properties", {}).values(), tree.get("items"), tree.get("additionalProperties")):
        if below:
            yield from expressions(below)


def test_every_expression_of_the_shipped_policies_is_evaluated() -> None:
    assert of_policies()
    assert [text for text in of_policies() if not isinstance(compiled(text, ADMISSION), Program)] == []


@pytest.mark.slow
def test_the_pinned_definitions_are_evaluated_and_every_added_function_is_used(
    shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = of_definitions(shared, tmp_path)
    assert texts
    assert [text for text in texts if not isinstance(compiled(text, ("self",)), Program)] == []
    names: list[str] = []
    monkeypatch.setattr(cel, "FunctionDecl", lambda name, overloads: names.append(name))
    declared(cel)
    called = "\n".join([*of_policies(), *texts])
    assert names
    assert [name for name in names if not re.search(rf"\b{name}\(", called)] == []


@pytest.mark.parametrize(
    ("expression", "name"),
    [
        ("isSemver(self)", "isSemver"),
        ("sets.contains(self, ['a'])", "sets.contains"),
        ("!format.dns1123Label().validate(self).hasValue()", "format.dns1123Label"),
        ("self.all(i, x, i < 2)", "all"),
        ("ip(self).family() == 4", "ip"),
        ("self.findAll('a') == []", "findAll"),
        ("quantity(self).add(quantity('1')).asInteger() == 1", "add"),
        ("authorizer.group('').allowed()", "authorizer.group"),
    ],
)
def test_an_unknown_function_is_named(expression: str, name: str) -> None:
    program = compiled(expression, ("self",))
    assert isinstance(program, NotEvaluated)
    assert program.why == f"gpuc does not evaluate this call of the function {name}"


@pytest.mark.parametrize("expression", ["self.", "(", "", "'", "other == 1"])
def test_an_invalid_expression_is_not_evaluated(expression: str) -> None:
    program = compiled(expression, ("self",))
    assert isinstance(program, NotEvaluated) and program.why


def test_unknown_variables_are_named() -> None:
    program = compiled("self.a == oldSelf.a.b && 'other' != x", ("self",))
    assert isinstance(program, NotEvaluated) and program.names == ("oldSelf", "x")


@pytest.mark.parametrize("value", [None, "a", 1])
def test_a_value_that_is_not_a_map_has_no_field(value: Any) -> None:
    """Source: github.com/google/cel-go v0.26 interpreter/attributes.go (refQualify)."""
    assert answer("has(self.x)", value) == Value(False)
    assert answer("has(self.x.y)", {"x": value}) == Value(False)
    assert answer("has(self.x[0].y)", {"x": [value]}) == Value(False)
    assert isinstance(answer("self.x", value), Failed)
    assert answer("self == 'has(self.x)'", value) == Value(False)


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("self.a == 1", {}),
        ("self[3] == 1", [1]),
        ("1 / self == 1", 0),
        ("self + 1 > 0", 2**63 - 1),
        ("self > 1", "a"),
        ("self.startsWith('a')", None),
        ("has(self.x)", [1]),
        ("self == 1 && self.a", 1),
        ("quantity(self).asInteger() == 4", "4000m"),
        ("self.find('(') == ''", "a"),
        ("self.exists_one(x, x.a == 1)", [{"a": 1}, {}]),
        ("optional.none().value()", None),
    ],
)
def test_errors_of_kubernetes_are_evaluation_failures(expression: str, value: Any) -> None:
    assert isinstance(answer(expression, value), Failed)


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("self == 1", 2**70),
        ("self == ''", "\ud800"),
        ("self.sum() == 'ab'", ["a", "b"]),
        ("self.indexOf('a') == 0", ["a"]),
    ],
)
def test_errors_of_the_engine_alone_are_not_evaluation_failures(expression: str, value: Any) -> None:
    assert isinstance(answer(expression, value), NotEvaluated)


def test_nulls_become_plain_data() -> None:
    value = [None, {"a": None, "b": [1.5, b"x", True]}]
    for _ in range(5000):
        assert answer("self", value) == Value(value)

"""The words of a mismatch: where it is, and the part of the schema that the value does not fit."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from gpuc.objects.flaw import place
from gpuc.verify.mismatch import Fit, mismatches, validator
from tests.conftest import ROOT

NAMED = {"type": "object", "additionalProperties": False, "properties": {"name": {"type": "string"}}}
PORTS = {"anyOf": [{"type": "string"}, {"type": "object", "properties": {"port": {"type": "integer"}}}]}


def read(schema: dict[str, Any], document: Any) -> list[tuple[Fit, str, str]]:
    return [(item.fit, place(item.path), item.message) for item in mismatches(validator(schema), document, schema)]


NO_QUANTITY = '"many" is not a quantity; write a number with a unit such as 500m, 16, 200Gi or 2Ti'


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        ({"type": "string"}, None, (Fit.VALUE, "a", "null is not of type 'string'")),
        ({"type": "integer"}, True, (Fit.VALUE, "a", "true is not of type 'integer'")),
        ({"enum": ["x", "y"]}, "z", (Fit.VALUE, "a", "\"z\" is not one of ['x', 'y']")),
        ({"pattern": "^(?i)(abort|warn)?$"}, "x", (Fit.VALUE, "a", "\"x\" does not match '^(?i)(abort|warn)?$'")),
        ({"format": "date-time"}, "now", (Fit.VALUE, "a", "\"now\" is not a 'date-time'")),
        ({"format": "quantity"}, "1024Mi", (Fit.QUANTITY, "a", 'quantity "1024Mi" is stored as "1Gi"')),
        ({"format": "quantity"}, "many", (Fit.VALUE, "a", NO_QUANTITY)),
        (NAMED, {"nam": "x"}, (Fit.UNKNOWN, "a.nam", 'unknown field, did you mean "name"')),
        (NAMED, {"zone": "x"}, (Fit.UNKNOWN, "a.zone", "unknown field; known: name")),
        ({"type": "object", "required": ["b"]}, {}, (Fit.MISSING, "a.b", "required, and missing")),
        (PORTS, {"port": "x"}, (Fit.VALUE, "a.port", "\"x\" is not of type 'integer'")),
    ],
)
def test_a_mismatch_has_a_place_and_a_reason(field: Any, value: Any, expected: tuple[Fit, str, str]) -> None:
    assert read({"properties": {"a": field}}, {"a": value}) == [expected]
    shared = {"properties": {"b": {"items": {"$ref": "#/$defs/B"}}}, "$defs": {"B": {"properties": {"a": field}}}}
    below = (expected[0], f"b[0].{expected[1]}", expected[2])
    assert read(shared, {"b": [{"a": value}]}) == [below]


def test_the_reason_for_a_long_value_is_not_cut_off() -> None:
    ((_, _, message),) = read({"type": "string"}, {"key": "x" * 1000})
    assert message.endswith("... is not of type 'string'") and len(message) < 200


def test_every_mismatch_of_a_document_is_found_once() -> None:
    schema = {"properties": {"a": NAMED, "b": {"type": "integer"}}, "required": ["c", "d"]}
    found = read(schema, {"a": {"x": 1, "name": 2}, "b": "1"})
    assert [(fit, at) for fit, at, _ in found] == [
        (Fit.VALUE, "a.name"), (Fit.UNKNOWN, "a.x"), (Fit.VALUE, "b"), (Fit.MISSING, "c"), (Fit.MISSING, "d"),
    ]  # fmt: skip


def test_a_quantity_below_another_mismatch_is_still_a_quantity() -> None:
    memory = {"type": "string", "format": "quantity"}
    schema = {"type": "object", "additionalProperties": False, "properties": {"memory": memory}}
    found = read(schema, {"memory": "1024Mi", "memori": "1"})
    assert [(fit, at) for fit, at, _ in found] == [(Fit.UNKNOWN, "memori"), (Fit.QUANTITY, "memory")]


def test_nothing_explains_where_nothing_is_refused() -> None:
    script = """
import sys
from gpuc.verify.mismatch import mismatches, validator
schema = {"type": "object"}
print(list(mismatches(validator(schema), {}, schema)), "jsonschema" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.split() == ["[]", "False"]

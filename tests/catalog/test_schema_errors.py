"""Schema errors have the path of the value and the part of the schema that the value violates."""

import subprocess
import sys
from typing import Any

import pytest

from gpuc.catalog.schemas.schema_errors import ErrorKind, schema_errors, validator
from gpuc.diagnostics.place import place
from tests.conftest import ROOT

NAMED = {"type": "object", "additionalProperties": False, "properties": {"name": {"type": "string"}}}
PORTS = {"anyOf": [{"type": "string"}, {"type": "object", "properties": {"port": {"type": "integer"}}}]}


def read(schema: dict[str, Any], document: Any) -> list[tuple[ErrorKind, str, str]]:
    return [(item.kind, place(item.path), item.message) for item in schema_errors(validator(schema), document, schema)]


NO_QUANTITY = '"many" is not a quantity; write a number with a unit such as 500m, 16, 200Gi or 2Ti'


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        ({"type": "string"}, None, (ErrorKind.VALUE, "a", "null is not of type 'string'")),
        ({"type": "integer"}, True, (ErrorKind.VALUE, "a", "true is not of type 'integer'")),
        ({"enum": ["x", "y"]}, "z", (ErrorKind.VALUE, "a", "\"z\" is not one of ['x', 'y']")),
        ({"pattern": "^(?i)(abort|warn)?$"}, "x", (ErrorKind.VALUE, "a", "\"x\" does not match '^(?i)(abort|warn)?$'")),
        ({"format": "date-time"}, "now", (ErrorKind.VALUE, "a", "\"now\" is not a 'date-time'")),
        ({"format": "quantity"}, "1024Mi", (ErrorKind.QUANTITY, "a", 'quantity "1024Mi" is stored as "1Gi"')),
        ({"format": "quantity"}, "many", (ErrorKind.VALUE, "a", NO_QUANTITY)),
        (NAMED, {"nam": "x"}, (ErrorKind.UNKNOWN, "a.nam", 'unknown field, did you mean "name"')),
        (NAMED, {"zone": "x"}, (ErrorKind.UNKNOWN, "a.zone", "unknown field; known: name")),
        ({"type": "object", "required": ["b"]}, {}, (ErrorKind.MISSING, "a.b", "this required field is missing")),
        (PORTS, {"port": "x"}, (ErrorKind.VALUE, "a.port", "\"x\" is not of type 'integer'")),
    ],
)
def test_an_error_has_a_path_and_a_reason(field: Any, value: Any, expected: tuple[ErrorKind, str, str]) -> None:
    assert read({"properties": {"a": field}}, {"a": value}) == [expected]
    shared = {"properties": {"b": {"items": {"$ref": "#/$defs/B"}}}, "$defs": {"B": {"properties": {"a": field}}}}
    below = (expected[0], f"b[0].{expected[1]}", expected[2])
    assert read(shared, {"b": [{"a": value}]}) == [below]


def test_the_reason_for_a_long_value_is_not_cut_off() -> None:
    ((_, _, message),) = read({"type": "string"}, {"key": "x" * 1000})
    assert message.endswith("... is not of type 'string'") and len(message) < 200


def test_every_error_of_a_document_is_found_once() -> None:
    schema = {"properties": {"a": NAMED, "b": {"type": "integer"}}, "required": ["c", "d"]}
    found = read(schema, {"a": {"x": 1, "name": 2}, "b": "1"})
    assert [(fit, at) for fit, at, _ in found] == [
        (ErrorKind.VALUE, "a.name"), (ErrorKind.UNKNOWN, "a.x"), (ErrorKind.VALUE, "b"),
        (ErrorKind.MISSING, "c"), (ErrorKind.MISSING, "d"),
    ]  # fmt: skip


def test_a_quantity_in_a_value_with_another_error_is_still_reported() -> None:
    memory = {"type": "string", "format": "quantity"}
    schema = {"type": "object", "additionalProperties": False, "properties": {"memory": memory}}
    found = read(schema, {"memory": "1024Mi", "memori": "1"})
    assert [(fit, at) for fit, at, _ in found] == [(ErrorKind.UNKNOWN, "memori"), (ErrorKind.QUANTITY, "memory")]


def test_jsonschema_is_not_loaded_without_an_error() -> None:
    script = """
import sys
from gpuc.catalog.schemas.schema_errors import schema_errors, validator
schema = {"type": "object"}
print(list(schema_errors(validator(schema), {}, schema)), "jsonschema" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.split() == ["[]", "False"]

"""The JSON files of the catalog: rows are typed, unique and sorted, and have sources."""

from __future__ import annotations

import json
import re
from dataclasses import MISSING, Field, fields
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import pytest

from gpuc.catalog import FOLDER, operations, records

TABLES: dict[tuple[str, str], tuple[type, tuple[str, ...]]] = {
    ("dcgm", "metrics"): (operations.DcgmMetric, ("name",)),
    ("gpus", "gpus"): (records.Gpu, ("id",)),
    ("images", "images"): (records.Image, ("id",)),
    ("instances", "instances"): (records.InstanceType, ("type",)),
    ("instances", "unsupported"): (records.UnsupportedInstance, ("type",)),
    ("kubelet", "kubelet"): (operations.Kubelet, ()),
    ("mig", "profiles"): (records.MigProfile, ("set", "profile")),
    ("mig", "sets"): (records.MigProfileSet, ("id",)),
    ("nccl", "pod"): (operations.EfaPod, ()),
    ("nccl", "variables"): (operations.NcclVariable, ("name",)),
    ("nccl", "verdicts"): (operations.NcclVerdict, ("name", "value")),
    ("nulls", "nulls"): (records.NullField, ("component", "version", "kind", "value")),
    ("releases", "components"): (records.Release, ("set", "component")),
    ("releases", "daemonsets"): (records.Daemonset, ("name",)),
    ("releases", "operands"): (records.Operand, ("operator", "operand")),
    ("versions", "kubernetes"): (operations.KubernetesVersion, ("version",)),
    ("xids", "xids"): (operations.Xid, ("xid",)),
}
CODE = "\n".join(path.read_text(encoding="utf-8") for path in FOLDER.parent.rglob("*") if path.suffix in (".py", ".j2"))
FILES = {file.stem: json.loads(file.read_text()) for file in FOLDER.glob("*.json")}
UNSORTED = {("mig", "profiles"), ("kubelet", "kubelet"), ("nccl", "pod")}

tables = pytest.mark.parametrize("table", TABLES, ids=".".join)


def rows(table: tuple[str, str]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = FILES[table[0]][table[1]]
    return found


def fits(value: Any, hint: Any) -> bool:
    """Whether a JSON value has the declared type of a record's field."""
    if get_origin(hint) in (Union, UnionType):
        return any(fits(value, branch) for branch in get_args(hint))
    if get_origin(hint) is Literal:
        return value in get_args(hint)
    if get_origin(hint) is tuple:
        return isinstance(value, list) and all(fits(element, get_args(hint)[0]) for element in value)
    return type(value) is hint


def required(kind: type) -> set[str]:
    return {field.name for field in fields(kind) if not has_default(field)}


def has_default(field: Field[Any]) -> bool:
    return field.default is not MISSING or field.default_factory is not MISSING


def test_every_table_of_every_file_has_a_type() -> None:
    found = {(name, table) for name, data in FILES.items() for table in data if table != "sources"}
    assert found == set(TABLES)


@tables
def test_rows_have_the_fields_and_types_of_their_record(table: tuple[str, str]) -> None:
    kind = TABLES[table][0]
    hints = get_type_hints(kind)
    assert rows(table)
    for row in rows(table):
        assert required(kind) <= row.keys() <= hints.keys(), row
        assert not {key: value for key, value in row.items() if not fits(value, hints[key])}, row


@tables
def test_every_column_is_read_by_the_compiler(table: tuple[str, str]) -> None:
    """Except keys, `source` and `confidence`, which are for people who change the row."""
    kind, keys = TABLES[table]
    columns = {field.name for field in fields(kind)} - {"source", "confidence", *keys}
    assert [name for name in sorted(columns) if not re.search(rf"\.{name}\b", CODE)] == []


@tables
def test_rows_omit_defaults(table: tuple[str, str]) -> None:
    defaults = {field.name: field.default for field in fields(TABLES[table][0]) if has_default(field)}
    assert not [row for row in rows(table) for key in row if key in defaults and row[key] == defaults[key]]


@tables
def test_keys_are_unique_and_rows_sorted(table: tuple[str, str]) -> None:
    key_fields = TABLES[table][1]
    keys = [tuple(row.get(name, "") for name in key_fields) for row in rows(table)]
    assert len(set(keys)) == len(keys)
    if table not in UNSORTED:
        assert keys == sorted(keys)


@pytest.mark.parametrize("name", sorted(FILES))
def test_sources_exist_and_are_used(name: str) -> None:
    all_rows = [row for found in FILES[name].values() if isinstance(found, list) for row in found]
    assert {key for row in all_rows for key in row.get("source", ())} == set(FILES[name]["sources"])


@tables
def test_every_row_has_a_source(table: tuple[str, str]) -> None:
    if table != ("mig", "profiles"):  # the profile set has the sources of its profiles
        assert all(row["source"] for row in rows(table))


@pytest.mark.parametrize("name", sorted(FILES))
def test_one_line_is_one_record(name: str) -> None:
    lines = (FOLDER / f"{name}.json").read_text().splitlines()
    records_on_lines = [json.loads(line.rstrip(",")) for line in lines if line.startswith('{"')]
    assert records_on_lines == [row for found in FILES[name].values() if isinstance(found, list) for row in found]

"""The rows of the catalog: types, sources, unique keys and order."""

import json
import re
from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import fields

from gpuc.catalog import rows as catalog_rows
from gpuc.catalog.rows import FOLDER, typed
from gpuc.diagnostics.finding import DeclarationError
from gpuc.parts.folders import component_folders
from tests.derive.rows import row_errors

TABLES = catalog_rows.tables()

CODE = "\n".join(path.read_text(encoding="utf-8") for path in FOLDER.parent.rglob("*") if path.suffix in (".py", ".j2"))
PACKAGE = FOLDER.parent
PATHS = sorted([*FOLDER.glob("*.json"), *(folder / "release.json" for folder in component_folders().values())])
FILES = {str(path.relative_to(PACKAGE)): json.loads(path.read_text()) for path in PATHS}
UNSORTED = {("mig", "profiles"), ("kubelet", "kubelet"), ("nccl", "pod")}

tables = pytest.mark.parametrize("table", TABLES, ids=".".join)


def rows(table: tuple[str, str]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = catalog_rows.read(table[0])[table[1]]
    return found


def table_file(path: str) -> str:
    """Returns the file of the tables whose rows a JSON file has."""
    return "releases" if path.endswith("/release.json") else Path(path).stem


def name(table: tuple[str, str], row: dict[str, Any]) -> str:
    """Returns the name of a row in messages: the key in the table."""
    return f"{table[0]}.json: {' '.join(str(row.get(key, '')) for key in TABLES[table][1])}"


def test_every_table_of_every_file_has_a_type() -> None:
    found = {(table_file(path), table) for path, data in FILES.items() for table in data if table != "sources"}
    assert found == set(TABLES)


@tables
def test_rows_have_the_keys_types_and_sources_of_their_record(table: tuple[str, str]) -> None:
    assert rows(table)
    wrong = [error for row in rows(table) for error in row_errors(*table, row)]
    assert not wrong, "\n".join(wrong)


ROW = {
    "type": "p9.large", "family": "p9", "arch": "amd64", "vcpu": 4, "memory_mib": 8192, "pods": 29,
    "source": ["kp-doc"],
}  # fmt: skip
PLACE = 'catalog/instances.json, table "instances", row p9.large'


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"vcpu": "4"}, '"vcpu" is "4", expected an integer'),
        ({"arch": "arm"}, '"arch" is "arm", expected one of "amd64", "arm64"'),
        ({"vcpus": 4}, 'unknown key "vcpus", did you mean "vcpu"'),
        ({"pods": None}, 'key "pods" is missing'),
        ({"source": ["kp-docs"]}, '"source" names "kp-docs", did you mean "kp-doc"'),
        ({"source": "kp-doc"}, '"source" is "kp-doc", expected an array of a string'),
    ],
)
def test_a_wrong_row_is_named_with_its_file_and_key(change: dict[str, Any], message: str) -> None:
    row = {key: value for key, value in (ROW | change).items() if value is not None}
    assert list(row_errors("instances", "instances", row)) == [f"{PLACE}: {message}"]


def test_a_wrong_key_stops_the_loading_with_a_clear_message(monkeypatch: pytest.MonkeyPatch) -> None:
    row = {key: value for key, value in ROW.items() if key != "pods"} | {"vcpus": 4}
    monkeypatch.setattr(catalog_rows, "read", lambda file: {"instances": [row]})
    expected = f'{PLACE}: key "pods" is missing\n{PLACE}: unknown key "vcpus", did you mean "vcpu"'
    with pytest.raises(DeclarationError, match=f"^{re.escape(expected)}$"):
        typed("instances", "instances")


@tables
def test_every_column_is_read_by_the_compiler(table: tuple[str, str]) -> None:
    """Beside the key of a row, and `source` and `confidence`, which are for people who change the row."""
    kind, keys = TABLES[table]
    columns = {field.name for field in fields(kind)} - {"source", "confidence", *keys}
    unread = [column for column in sorted(columns) if not re.search(rf"\.{column}\b", CODE)]
    assert not unread, f"no code reads {unread} of {kind.__name__}"


@tables
def test_a_default_is_never_spelled_out(table: tuple[str, str]) -> None:
    defaults = {field.name: field.default for field in fields(TABLES[table][0]) if not field.required}
    spelled = [
        f'{name(table, row)}: leave out "{key}", {row[key]!r} is its default'
        for row in rows(table)
        for key in row
        if key in defaults and row[key] == defaults[key]
    ]
    assert not spelled, "\n".join(spelled)


@tables
def test_keys_are_unique(table: tuple[str, str]) -> None:
    key_fields = TABLES[table][1]
    keys = [tuple(row.get(field, "") for field in key_fields) for row in rows(table)]
    twice = sorted({key for key in keys if keys.count(key) > 1})
    assert not twice, f"{table[0]}.json has more than one row for {twice}"


@pytest.mark.parametrize("file", FILES)
def test_the_rows_of_a_file_are_sorted(file: str) -> None:
    for table in FILES[file].keys() - {"sources"}:
        kind = (table_file(file), table)
        if kind not in UNSORTED:
            keys = [tuple(row.get(field, "") for field in TABLES[kind][1]) for row in FILES[file][table]]
            misplaced = [f"{after} must be before {before}" for before, after in pairwise(keys) if before > after]
            assert not misplaced, f"{file}: rows are sorted by {' and '.join(TABLES[kind][1])} as text: {misplaced}"


def test_a_source_has_one_text() -> None:
    texts = defaultdict(set)
    for file, data in FILES.items():
        for key, text in data.get("sources", {}).items():
            texts[table_file(file), key].add(text)
    assert {key: found for key, found in texts.items() if len(found) > 1} == {}


@pytest.mark.parametrize("file", sorted(FILES))
def test_every_source_is_used(file: str) -> None:
    every = [row for found in FILES[file].values() if isinstance(found, list) for row in found]
    unused = FILES[file]["sources"].keys() - {key for row in every for key in row.get("source", ())}
    assert not unused, f"{file}: no row names the sources {sorted(unused)}"


@tables
def test_every_row_names_a_source(table: tuple[str, str]) -> None:
    if table != ("mig", "profiles"):  # a profile's sources are those of its set
        unsourced = [name(table, row) for row in rows(table) if not row["source"]]
        assert not unsourced, f"rows without a source: {unsourced}"


@pytest.mark.parametrize("file", sorted(FILES))
def test_one_line_is_one_record(file: str) -> None:
    lines = (PACKAGE / file).read_text().splitlines()
    records_on_lines = [json.loads(line.rstrip(",")) for line in lines if line.startswith('{"')]
    assert records_on_lines == [row for found in FILES[file].values() if isinstance(found, list) for row in found]

"""The house style, by machine: budgets, drawers, names, and a schema of the language that is fresh."""

from __future__ import annotations

import ast
import json
import re
import tomllib
from pathlib import Path

import pytest

from gpuc.spec.schema import json_schema
from tests.conftest import ROOT

MODULES = sorted((ROOT / "compiler").rglob("*.py"))


def lengths(node: ast.AST) -> list[int]:
    return [
        (child.end_lineno or 0) - child.lineno + 1
        for child in ast.walk(node)
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef)
    ]


def p95(numbers: list[int]) -> int:
    return sorted(numbers)[int(len(numbers) * 0.95)]


def test_modules_and_functions_keep_their_budgets() -> None:
    modules = {file: len(file.read_text(encoding="utf-8").splitlines()) for file in MODULES}
    functions = [length for file in MODULES for length in lengths(ast.parse(file.read_text(encoding="utf-8")))]
    assert max(modules.values()) <= 400, max(modules, key=lambda file: modules[file])
    assert p95(list(modules.values())) <= 250
    assert max(functions) <= 50
    assert p95(functions) <= 30


def test_there_are_rooms_and_no_drawers() -> None:
    assert [file for file in MODULES if file.stem in ("common", "utils", "util", "helpers", "misc")] == []


def test_nothing_is_left_for_later() -> None:
    marks = re.compile(r"\b(TODO|FIXME|XXX)\b")
    assert [file for file in MODULES if marks.search(file.read_text(encoding="utf-8"))] == []


@pytest.mark.parametrize("file", MODULES, ids=lambda file: file.relative_to(ROOT).as_posix())
def test_what_is_public_says_what_it_is(file: Path) -> None:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    is_rule = file.parent.parent.name == "rules"  # its docstring stands on the rule itself
    if tree.body and not is_rule:
        assert ast.get_docstring(tree), "a module says what its subject is"
    silent = [
        node.name
        for node in tree.body
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
        and not node.name.startswith("_")
        and not ast.get_docstring(node)
    ]
    assert silent == []


def test_the_committed_schema_of_the_language_is_fresh() -> None:
    committed = json.loads((ROOT / "gpuc.schema.json").read_text(encoding="utf-8"))
    assert committed == json_schema(), "run make generate"


def test_every_field_of_the_language_is_described() -> None:
    shapes = [json_schema(), *json_schema()["$defs"].values()]
    bare = [
        name for shape in shapes for name, field in shape.get("properties", {}).items() if not field.get("description")
    ]
    assert set(bare) <= {"apiVersion", "metadata", "spec"}


def test_the_licence_is_there_and_named() -> None:
    text = (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert "Apache License" in text and "Version 2.0, January 2004" in text
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert (project["license"], project["license-files"]) == ("Apache-2.0", ["LICENSE"])

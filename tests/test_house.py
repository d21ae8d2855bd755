"""Conventions that ruff cannot check: lengths, names of modules, and the schema of the language."""

import ast
import json
import re
from collections import defaultdict
from importlib import import_module

import pytest

from gpuc.spec.schema import json_schema
from tests.conftest import ROOT

SOURCES = (ROOT / "compiler", ROOT / "rehearsal")
MODULES = sorted(file for folder in SOURCES for file in folder.rglob("*.py"))
MODULE_LINES = 360
FUNCTION_LINES = 45
CONSTANT = re.compile(r'^(\w+(?:, \w+)*)(?:: \w+)? = (f?"[^"]*"(?:, f?"[^"]*")*)$', re.MULTILINE)
NAME = re.compile(r"[\w.*/-]*\w[./]\w[\w.*/-]*")
"""A label, a domain, a resource or a file: words with a dot or a slash between them."""
DEFINED_TWICE = {
    "gpuc.dev/tenant": "`gpuc isolation` does not load the model, which would double the time of its start",
    "gpuc.dev/why": "`gpuc isolation` does not load the model, which would double the time of its start",
    "application/json": "HTTP, not a name of Kubernetes or gpuc",
}


def test_modules_and_functions_are_short() -> None:
    long = []
    for file in MODULES:
        text = file.read_text(encoding="utf-8")
        lengths = [
            (node.name, (node.end_lineno or 0) - node.lineno + 1)
            for node in ast.walk(ast.parse(text))
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        ]
        long += [(file, name, length) for name, length in lengths if length > FUNCTION_LINES]
        long += [(file, "", lines) for lines in [len(text.splitlines())] if lines > MODULE_LINES]
    assert long == []


def test_a_module_is_named_after_its_subject() -> None:
    assert [file for file in MODULES if file.stem in ("common", "utils", "util", "helpers", "misc")] == []


def test_a_name_is_defined_in_one_module() -> None:
    files = defaultdict(set)
    for file in MODULES:
        if "template" in file.parts:
            continue  # these files run without gpuc
        folder = next(folder for folder in SOURCES if file.is_relative_to(folder))
        name = ".".join(file.relative_to(folder).with_suffix("").parts)
        for constants, texts in CONSTANT.findall(file.read_text(encoding="utf-8")):
            for constant, text in zip(constants.split(", "), re.findall('f?"[^"]*"', texts), strict=True):
                value = getattr(import_module(name), constant) if text.startswith("f") else text.strip('"')
                if NAME.fullmatch(value) and value not in DEFINED_TWICE:
                    files[value].add(name)
    assert {value: sorted(names) for value, names in files.items() if len(names) > 1} == {}


def _problems(record: ast.ClassDef, imported: dict[str, str]) -> set[str]:
    """What a record does that msgspec refuses only at run time, for example in a rehearsal."""
    fields = {
        node.target.id for node in record.body if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    }
    calls = {
        ast.unparse(node.value.func)
        for node in record.body
        if isinstance(node, ast.AnnAssign) and isinstance(node.value, ast.Call)
    }
    found = {"field of dataclasses"} if "field" in calls and imported.get("field") != "msgspec" else set()
    for node in ast.walk(record):
        is_own = (
            isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and ast.unparse(node.value) == "self"
        )
        if is_own and node.attr not in fields:
            found.add(f"attribute {node.attr} is no field")
        has_memory = any(word.arg == "dict" for word in record.keywords)
        if isinstance(node, ast.FunctionDef) and not has_memory:
            decorators = {ast.unparse(decorator) for decorator in node.decorator_list}
            found |= {f"cached property {node.name}"} if "cached_property" in decorators else set()
    return found


@pytest.mark.slow
def test_records_have_only_their_fields() -> None:
    found = []
    for file in MODULES:
        tree = ast.parse(file.read_text("utf-8"))
        imports = (node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module)
        imported = {name.name: str(node.module) for node in imports for name in node.names}
        for record in (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)):
            if any(ast.unparse(base) == "Struct" for base in record.bases):
                found += [(file.name, record.name, problem) for problem in _problems(record, imported)]
    assert found == []


def test_the_committed_schema_of_the_language_is_fresh() -> None:
    committed = json.loads((ROOT / "gpuc.schema.json").read_text(encoding="utf-8"))
    assert committed == json_schema(), "run make generate"


def test_every_field_of_the_language_is_described() -> None:
    schema = json_schema()
    shapes = [
        schema,
        *(shape for name, shape in schema["$defs"].items() if not name.startswith(("Complete", "Without"))),
    ]
    bare = [
        name for shape in shapes for name, field in shape.get("properties", {}).items() if not field.get("description")
    ]
    assert set(bare) <= {"apiVersion", "metadata", "spec"}

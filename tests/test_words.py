"""Plain words: docstrings, comments, messages and pages do not contain words that are hard to read."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import CUSTOM, HUB, ROOT

FORBIDDEN = re.compile(r"\b(told|tells|said|stands|whoever|somebody|nobody)\b", re.IGNORECASE)
PACKAGE = ROOT / "compiler/gpuc"
REHEARSAL = ROOT / "rehearsal/gpuc_rehearsal"
MODULES = [*sorted(PACKAGE.rglob("*.py")), *sorted(REHEARSAL.rglob("*.py"))]
PAGES = [
    *sorted(ROOT.glob("*.md")),
    *sorted((ROOT / "benchmarks").glob("*.md")),
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "policies").rglob("*.yaml")),
    CUSTOM / "README.md",
    HUB / "README.md",
    *sorted((CUSTOM / "policies").rglob("*.yaml")),
    *sorted(PACKAGE.rglob("*.j2")),
    REHEARSAL / "tools/README.md",
    REHEARSAL.parent / "README.md",
    *sorted(file for file in (PACKAGE / "cli/template").rglob("*.*") if file.is_file() and file.suffix != ".pyc"),
]


def texts(source: str) -> Iterator[tuple[int, str]]:
    """Line and text of every string and comment of a module, docstrings among them."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def loop_variables(source: str) -> Iterator[tuple[int, str]]:
    """Line and name of every variable that a loop or a comprehension assigns, and of the parameters of lambdas."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.For | ast.comprehension):
            yield from ((name.lineno, name.id) for name in ast.walk(node.target) if isinstance(name, ast.Name))
        elif isinstance(node, ast.Lambda):
            yield from ((parameter.lineno, parameter.arg) for parameter in node.args.args)


@pytest.mark.parametrize("file", MODULES, ids=lambda file: file.relative_to(ROOT).as_posix())
def test_a_module_uses_plain_words(file: Path) -> None:
    source = file.read_text(encoding="utf-8")
    words = [(line, word) for line, text in texts(source) for word in FORBIDDEN.findall(text)]
    assert words == []


def test_a_loop_names_the_thing() -> None:
    files = (*MODULES, *(ROOT / "tests").rglob("*.py"))
    found = ((file, *row) for file in files for row in loop_variables(file.read_text(encoding="utf-8")))
    assert [(str(file), line) for file, line, name in found if name in ("one", "each")] == []


@pytest.mark.parametrize("file", PAGES, ids=lambda file: file.relative_to(ROOT).as_posix())
def test_a_page_uses_plain_words(file: Path) -> None:
    assert FORBIDDEN.findall(file.read_text(encoding="utf-8")) == []


def test_a_forbidden_word_is_found_wherever_it_is() -> None:
    source = 'def f():\n    """It is told."""\n    # said\n    return [f"{each} stands" for each in ()]\n'
    assert [FORBIDDEN.findall(text) for _, text in texts(source)] == [["told"], ["stands"], ["said"]]
    assert [name for _, name in loop_variables(source)] == ["each"]
    assert [name for _, name in loop_variables("sorted(range(3), key=lambda one: -one)")] == ["one"]

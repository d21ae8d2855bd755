"""Plain words: docstrings, comments, messages and pages do not contain words that are hard to read."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator

import pytest

from tests.conftest import CUSTOM, HUB, ROOT

FORBIDDEN = re.compile(r"\b(told|tells|said|stands|whoever|somebody|nobody)\b", re.IGNORECASE)
LOOP = re.compile(r"\b(for|lambda)\b[^:]*?\b(one|each)\b")
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
    *sorted(PACKAGE.rglob("*.toml")),
    REHEARSAL / "tools/README.md",
    REHEARSAL.parent / "README.md",
    *sorted(file for file in (PACKAGE / "cli/template").rglob("*.*") if file.is_file() and file.suffix != ".pyc"),
]


def texts(source: str) -> Iterator[tuple[int, str]]:
    """Line and text of every string and comment of a module with a forbidden word, docstrings among them."""
    if not FORBIDDEN.search(source):
        return
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def loop_variables(source: str) -> Iterator[tuple[int, str]]:
    """Line and name of the variables of loops and comprehensions, and of lambdas, in a module with a wrong name."""
    if not LOOP.search(source):
        return
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.For | ast.comprehension):
            yield from ((name.lineno, name.id) for name in ast.walk(node.target) if isinstance(name, ast.Name))
        elif isinstance(node, ast.Lambda):
            yield from ((parameter.lineno, parameter.arg) for parameter in node.args.args)


def test_modules_use_plain_words() -> None:
    found = ((file, *row) for file in MODULES for row in texts(file.read_text(encoding="utf-8")))
    assert [(str(file), line, word) for file, line, text in found for word in FORBIDDEN.findall(text)] == []


@pytest.mark.slow
def test_a_loop_names_the_thing() -> None:
    files = (*MODULES, *(ROOT / "tests").rglob("*.py"))
    found = ((file, *row) for file in files for row in loop_variables(file.read_text(encoding="utf-8")))
    assert [(str(file), line) for file, line, name in found if name in ("one", "each")] == []


def test_pages_use_plain_words() -> None:
    found = ((file, FORBIDDEN.findall(file.read_text(encoding="utf-8"))) for file in PAGES)
    assert [(str(file), words) for file, words in found if words] == []


def test_a_forbidden_word_is_found_wherever_it_is() -> None:
    source = 'def f():\n    """It is told."""\n    # said\n    return [f"{each} stands" for each in ()]\n'
    assert [FORBIDDEN.findall(text) for _, text in texts(source)] == [["told"], ["stands"], ["said"]]
    assert [name for _, name in loop_variables(source)] == ["each"]
    assert [name for _, name in loop_variables("sorted(range(3), key=lambda one: -one)")] == ["one"]

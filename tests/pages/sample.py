"""`python -m tests.pages.sample SEED`: draws docstrings, messages and paragraphs for a reader with fresh eyes."""

import ast
import random
import re
import sys

import yaml

from tests.conftest import ROOT

DOCSTRINGS, MESSAGES, PARAGRAPHS = 16, 8, 12
"""How many of each are drawn."""


def docstrings() -> list[tuple[str, str]]:
    """Place and text of the docstrings of public modules, classes and functions of both packages."""
    found = []
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef)
    for file in (*(ROOT / "compiler").rglob("*.py"), *(ROOT / "rehearsal").rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            name = getattr(node, "name", "")
            if isinstance(node, kinds) and not name.startswith("_") and (text := ast.get_docstring(node)):
                found.append((f"{file.relative_to(ROOT)} {name}", text))
    return sorted(found)


def messages() -> list[tuple[str, str]]:
    """Place and text of the answers of `gpuc check` that the tests record."""
    found = []
    for file in sorted((ROOT / "tests/messages").rglob("*.yaml")):
        texts = _texts(yaml.safe_load(file.read_text("utf-8")))
        found += [(str(file.relative_to(ROOT)), text) for text in texts if text.startswith("specs/") and "\n" in text]
    return found


def _texts(value: object) -> list[str]:
    if isinstance(value, dict):
        return [text for part in value.values() for text in _texts(part)]
    if isinstance(value, list):
        return [text for part in value for text in _texts(part)]
    return [value] if isinstance(value, str) else []


def paragraphs() -> list[tuple[str, str]]:
    """Page and text of the paragraphs of the manual, without tables and blocks of code."""
    found = []
    for page in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))):
        text = re.sub(r"```.*?```", "", page.read_text("utf-8"), flags=re.DOTALL)
        heading = ""
        for part in (part.strip() for part in text.split("\n\n") if page.name != "reference.md"):
            heading = part if part.startswith("#") else heading
            if len(part) > 120 and part[0] not in "|#":
                found.append((f"{page.name}, {heading.lstrip('# ')}", part))
    return found


def main(seed: int) -> None:
    """Prints the drawn texts with their places."""
    draw = random.Random(seed)
    for name, texts, count in (
        ("docstrings", docstrings(), DOCSTRINGS),
        ("messages", messages(), MESSAGES),
        ("paragraphs", paragraphs(), PARAGRAPHS),
    ):
        print(f"# {count} of {len(texts)} {name}, seed {seed}\n")
        for number, (place, text) in enumerate(draw.sample(texts, count), 1):
            print(f"{number}. [{place}]\n{text}\n")


if __name__ == "__main__":
    main(int(sys.argv[1]))

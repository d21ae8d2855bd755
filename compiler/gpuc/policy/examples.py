"""Reads the examples of a policy: the objects in allowed.yaml and denied.yaml."""

import re
from collections.abc import Iterator
from typing import NamedTuple

_SEPARATOR = re.compile(r"^---(?=\s)[^\n]*\n?", re.MULTILINE)
_CONTENT = re.compile(r"^[ \t]*[^#\s]", re.MULTILINE)


class ExampleText(NamedTuple):
    """An example in allowed.yaml or denied.yaml: its name and its text."""

    title: str
    """The comment above the document, without a period; empty without a comment."""
    text: str
    line: int
    """The number of lines of the file before the text."""


def example_texts(text: str) -> Iterator[ExampleText]:
    """Yields the examples in the text of a file. Empty YAML documents are left out."""
    start = 0
    ends = [*_SEPARATOR.finditer(text), None]
    for end in ends:
        part = text[start : end.start() if end else len(text)]
        if _CONTENT.search(part):
            first = part.lstrip().partition("\n")[0]
            title = first.lstrip("# ").strip().rstrip(".") if first.startswith("#") else ""
            yield ExampleText(title, part, text.count("\n", 0, start))
        start = end.end() if end else start


def created_titles(text: str) -> list[str]:
    """Returns the names of the examples that create an object instead of updating an object.

    Args:
        text: the text of allowed.yaml or denied.yaml.
    """
    return [example.title for example in example_texts(text) if "operation: UPDATE" not in example.text]

"""Finds the line and column of values in YAML files."""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from msgspec import ValidationError

from gpuc.diagnostics.finding import Mark, Path
from gpuc.documents.reader import Document, document
from gpuc.documents.scalar_text import mark_in_string, offset_of


class SourceMap:
    """Finds the mark (file, line and column) of a value in the files that were added.

    Only values with findings need marks, so the documents of these values are parsed again when a mark is needed.
    """

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self._lines = lru_cache(maxsize=8)(lambda file: self.text(file).splitlines())

    def add(self, file: str, text: str) -> None:
        """Adds a file with its text, so that the methods can find values in the file."""
        self._texts[file] = text

    def text(self, file: str) -> str:
        """Returns the text of a file; an empty text for a file that was not added."""
        return self._texts.get(file, "")

    def has(self, word: str) -> bool:
        """Returns whether one of the files contains a word."""
        return any(word in text for text in self._texts.values())

    def value(self, file: str, path: Path) -> Any:
        """Returns the value at a path, which begins with the index of the document; None if it does not exist."""
        found = self._document(file, path[0])
        _, node, rest = found.closest(path[1:], False) if found else (None, None, path)
        return node.plain() if node and not rest else None

    def mark(self, file: str, path: Path, on_key: bool = False) -> Mark:
        """Returns the mark of the value at a path. If the path does not exist, returns the mark of its closest parent.

        Args:
            path: the index of the document in the file, then the path in the document. It may continue inside of a
                string value that contains YAML, as in a ConfigMap.
            on_key: whether to return the mark of the value's key.
        """
        found = self._document(file, path[0])
        if found is None:
            return Mark(file, 1, 1)
        mark, node, rest = found.closest(path[1:], on_key)
        while rest and isinstance(node.value, str) and (found := document(node.value, file, 0)):
            if isinstance(found.root.value, str):  # a word is a document that contains the same word
                break
            outer, text = mark, node.value
            inner, node, rest = found.closest(rest, on_key)
            mark = self.mark_in_file(outer, text, inner)
        return mark

    def locator(self, file: str, start: Path) -> Callable[[Path, bool], Mark]:
        """Returns a function that calls `mark` for a path below `start`."""
        return lambda path, on_key: self.mark(file, (*start, *path), on_key)

    def located(self, error: ValidationError, file: str, start: Path) -> tuple[str, Mark]:
        """Returns the message of an msgspec error without its path, and the mark of the wrong value at this path."""
        message, _, below = str(error).partition(" - at `$")
        steps = re.findall(r"\.(\w+)|\[(\d+)\]", below)
        path = [int(number) if number else name for name, number in steps] + re.findall("unknown field `(.*)`", message)
        return message, self.mark(file, (*start, *path), on_key=True)

    def mark_in_file(self, outer: Mark, text: str, inner: Mark) -> Mark:
        """Converts a mark inside of a string into a mark in the file. Returns `outer` if that is uncertain.

        Args:
            outer: the mark of the string.
            inner: the mark in the string.
        """
        offset = offset_of(text, inner)
        if offset >= len(text) and inner.column == 1:  # the parser stopped after the last line
            offset = text.rstrip().rfind("\n") + 1
        return mark_in_string(self._texts[outer.file], outer, text, offset) or outer

    def line(self, mark: Mark) -> str | None:
        """Returns the text of the line at a mark; None if the file has fewer lines."""
        lines = self._lines(mark.file)
        return lines[mark.line - 1] if mark.line <= len(lines) else None

    def _document(self, file: str, index: str | int) -> Document | None:
        assert isinstance(index, int), "the origin of a loaded object begins with the index of its document"
        return document(self.text(file), file, index)

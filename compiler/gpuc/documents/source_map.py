"""Maps the values of YAML documents to lines and columns of their files."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from gpuc.diagnostics.finding import Mark, Path
from gpuc.documents.reader import document


class SourceMap:
    """Finds the mark (file, line and column) of a value.

    Only values with findings need marks, so the documents of these values are parsed again when a mark is needed.
    """

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self._lines = lru_cache(maxsize=8)(self._split)

    def add(self, file: str, text: str) -> None:
        """Adds the text of a file."""
        self._texts[file] = text

    def document(self, file: str, index: int) -> Any:
        """Returns the content of a document of a file."""
        found = document(self._texts[file], file, index)
        return found and found.root.plain()

    def mark(self, file: str, index: int, path: Path, *, on_key: bool = False) -> Mark:
        """Returns the mark of the value at a path of a document, or of the closest parent that the document has.

        A path may continue inside of a string value that contains YAML, as in a ConfigMap.
        """
        found = document(self._texts[file], file, index)
        if found is None:
            return Mark(file, 1, 1)
        mark, node, rest = found.closest(path, on_key)
        return self.embedded(mark, node.value)(rest, on_key) if rest and isinstance(node.value, str) else mark

    def embedded(self, outer: Mark, text: str) -> Callable[[Path, bool], Mark]:
        """Returns a function that maps paths of a YAML text to marks in the file.

        Args:
            outer: the mark of the string value that contains the YAML text.
        """

        def mark(path: Path, on_key: bool) -> Mark:
            found = document(text, outer.file, 0)
            return self.mark_in_file(outer, text, found and found.closest(path, on_key)[0])

        return mark

    def mark_in_file(self, outer: Mark, text: str, inner: Mark | None) -> Mark:
        """Converts a mark in a YAML block (`key: |`) to a mark in the file. Returns `outer` for any other string.

        Args:
            outer: the mark of the text.
            inner: the mark in the text.
        """
        line, lines = self.line(outer), text.splitlines()
        if inner is None or not lines or line is None or line[outer.column - 1 :][:1] != "|":
            return outer
        number, column = (inner.line, inner.column) if inner.line <= len(lines) else (len(lines), 1)
        line_in_file, line_in_text = self.line(Mark(outer.file, outer.line + number, 1)), lines[number - 1]
        if line_in_file is None or not line_in_file.endswith(line_in_text):
            return outer
        return Mark(outer.file, outer.line + number, len(line_in_file) - len(line_in_text) + column)

    def line(self, mark: Mark) -> str | None:
        """Returns the line of the file at a mark, without the line break; None if the file has fewer lines."""
        lines = self._lines(mark.file)
        return lines[mark.line - 1] if mark.line <= len(lines) else None

    def _split(self, file: str) -> list[str]:
        return self._texts.get(file, "").splitlines()

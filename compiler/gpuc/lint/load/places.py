"""The texts of the files that were read, and where in them a value stands."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from gpuc.diagnostics.finding import Mark, Path
from gpuc.lint.load.text import marks, read
from gpuc.objects.object_set import dig


class Places:
    """Places are looked up only for findings: a document is parsed a second time then, with its marks."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self._marks = lru_cache(maxsize=64)(self._read)
        self._document = lru_cache(maxsize=4)(self._data)
        self._lines = lru_cache(maxsize=8)(self._split)

    def add(self, file: str, text: str) -> None:
        """Keeps the text of a file."""
        self._texts[file] = text

    def mark(self, file: str, index: int, path: Path, *, on_key: bool = False) -> Mark:
        """Where the value at a path of a document stands, or the nearest one around it that is written.

        A path may go on in a YAML text that is a value, as those of ConfigMaps are.
        """
        known = self._marks(file, index)
        found = _nearest(known, path, on_key)
        written = next(end for end in range(len(path), -1, -1) if end == 0 or (path[:end], False) in known)
        if found is None or written == len(path) or (on_key and (path, True) in known):
            return found or Mark(file, 1, 1)
        text = dig(self._document(file, index), *path[:written])
        return self.inside(found, text)(path[written:], on_key) if isinstance(text, str) else found

    def inside(self, outer: Mark, text: str) -> Callable[[Path, bool], Mark]:
        """Where the values of a YAML text stand that itself is a value, at a mark."""
        known = lru_cache(maxsize=1)(lambda: _marks_of(text, outer.file))
        return lambda path, on_key: self.shifted(outer, text, _nearest(known(), path, on_key))

    def shifted(self, outer: Mark, text: str, inner: Mark | None) -> Mark:
        """A mark in the text of a block (`key: |`) as one in its file; that of the text itself where it is no block."""
        line, lines = self.line(outer), text.splitlines()
        if inner is None or not lines or line is None or line[outer.column - 1 :][:1] != "|":
            return outer
        number, column = (inner.line, inner.column) if inner.line <= len(lines) else (len(lines), 1)
        written, shown = self.line(Mark(outer.file, outer.line + number, 1)), lines[number - 1]
        if written is None or not written.endswith(shown):
            return outer
        return Mark(outer.file, outer.line + number, len(written) - len(shown) + column)

    def line(self, mark: Mark) -> str | None:
        """The source line at a mark, without its line break."""
        lines = self._lines(mark.file)
        return lines[mark.line - 1] if mark.line <= len(lines) else None

    def _split(self, file: str) -> list[str]:
        return self._texts.get(file, "").splitlines()

    def _data(self, file: str, index: int) -> Any:
        return dict(read(self._texts[file], file).documents).get(index)

    def _read(self, file: str, index: int) -> dict[tuple[Path, bool], Mark]:
        return marks(self._texts[file], file, index)


def _marks_of(text: str, file: str) -> dict[tuple[Path, bool], Mark]:
    """Places in the first document of a text; none in a text that is no YAML."""
    return marks(text, file, 0) if read(text, file).documents else {}


def _nearest(known: dict[tuple[Path, bool], Mark], path: Path, on_key: bool) -> Mark | None:
    if on_key and (path, True) in known:
        return known[path, True]
    while path and (path, False) not in known:
        path = path[:-1]
    return known.get((path, False))

"""The texts of the files that were read, and where in them a value stands."""

from __future__ import annotations

from functools import lru_cache

from compiler.finding import Mark, Path
from compiler.lint.text import marks


class Places:
    """Places are looked up only for findings: a document is parsed a second time then, with its marks."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self._marks = lru_cache(maxsize=64)(self._read)

    def add(self, file: str, text: str) -> None:
        """Keeps the text of a file."""
        self._texts[file] = text

    def mark(self, file: str, index: int, path: Path, *, on_key: bool = False) -> Mark:
        """Where the value at a path of a document stands, or the nearest one around it that is written."""
        known = self._marks(file, index)
        if on_key and (path, True) in known:
            return known[path, True]
        while path and (path, False) not in known:
            path = path[:-1]
        return known.get((path, False), Mark(file, 1, 1))

    def line(self, mark: Mark) -> str | None:
        """The source line at a mark, without its line break."""
        lines = self._texts.get(mark.file, "").splitlines()
        return lines[mark.line - 1] if mark.line <= len(lines) else None

    def _read(self, file: str, index: int) -> dict[tuple[Path, bool], Mark]:
        return marks(self._texts[file], file, index)

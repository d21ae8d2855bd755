"""YAML text to the nodes of its documents, within bounds, and which part of a file each document is."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

WRITTEN_MAX = 4_000_000
"""So many keys and values may be written in one document: a dump of ten thousand pods."""
DEPTH_READ = 500
"""Behind so many levels the reading itself stops, which takes the stack of the process."""


class BeyondError(ValueError):
    """A document is beyond the bounds."""

    def __init__(self, message: str, node: Any) -> None:
        super().__init__(message)
        self.node = node
        """The first node that is one too many, or the one around it."""


def roots(text: str) -> Iterator[tuple[Any, int]]:
    """The root node of each document, and how many nodes are written in it."""
    loader = _loader()(text)
    try:
        while loader.check_node():
            yield loader.get_node(), loader.written
    finally:
        loader.dispose()


@cache
def _loader() -> Any:
    import yaml

    base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

    class Bounded(base):  # type: ignore[misc]
        """Composes within bounds: the C code would go on until its stack ends, which ends the process."""

        depth = written = 0

        def descend_resolver(self, current_node: Any, current_index: Any) -> None:
            """Called before each node; the parent of a root is None."""
            self.depth += 1
            self.written = 1 if current_node is None else self.written + 1
            if self.depth > DEPTH_READ:
                raise BeyondError(f"this is nested more than {DEPTH_READ} levels deep", current_node)
            if self.written > WRITTEN_MAX:
                raise BeyondError(f"this document has more than {WRITTEN_MAX} keys and values", current_node)

        def ascend_resolver(self) -> None:
            """Called behind each node."""
            self.depth -= 1

    return Bounded


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a text, and where it begins: offsets, and line and column from 0."""

    start: int
    end: int | None
    line: int
    column: int

    def of(self, text: str) -> str:
        """What of the text it is."""
        return text[self.start : self.end]


WHOLE = Piece(0, None, 0, 0)
"""All of a text."""
_DOTS = re.compile(r"(?:[ \t]*(?:#[^\r\n]*)?(?:\r\n|\r|\n))*\.\.\.(?=\s|\Z)")
"""The end of a document, with comments before it: a text cannot begin with it."""


@lru_cache(maxsize=4)
def pieces(text: str) -> list[Piece]:
    """A piece for each document, in which it is alone: a place is found without reading the whole file again."""
    from yaml import YAMLError

    found: list[Piece] = []
    start, line, column = 0, 0, 0
    try:
        for root, _ in roots(text):
            end = root.end_mark
            found.append(Piece(start, end.index, line, column))
            start, line, column = end.index, end.line, end.column
            if dots := _DOTS.match(text, start):
                start, line, column = dots.end(), line + len(dots[0].splitlines()) - 1, 3
    except (YAMLError, ValueError, RecursionError):
        stream = json_pieces(text)
        return stream if len(stream) > 1 else found
    return found


@lru_cache(maxsize=4)
def json_pieces(text: str) -> list[Piece]:
    """The values of a stream of JSON objects, which kubectl takes too; nothing for other texts.

    Source: k8s.io/apimachinery v0.35 pkg/util/yaml/decoder.go, YAMLOrJSONDecoder
    """
    found: list[Piece] = []
    decoder, start = json.JSONDecoder(parse_int=str, parse_float=str), 0
    line = column = 0
    while start < len(text):
        if text[start].isspace():
            line, column = (line + 1, 0) if text[start] == "\n" else (line, column + 1)
            start += 1
            continue
        try:
            end = decoder.raw_decode(text, start)[1] if text[start] == "{" else 0
        except (ValueError, RecursionError):
            end = 0
        if not end:
            return []
        found.append(Piece(start, end, line, column))
        breaks = text.count("\n", start, end)
        line, column = line + breaks, end - text.rfind("\n", start, end) - 1 if breaks else column + end - start
        start = end
    return found

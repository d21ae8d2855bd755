"""Parses YAML text to nodes, with limits, and finds the start and end of every document of a file."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

NODES_MAX = 4_000_000
"""The limit of keys and values in one document: enough for a dump of ten thousand pods."""
PARSER_DEPTH_MAX = 500
"""The limit of nesting for the parser, which is recursive and uses the stack of the process."""


class LimitError(ValueError):
    """A document exceeds a limit."""

    def __init__(self, message: str, start_mark: Any) -> None:
        super().__init__(message)
        self.start_mark = start_mark
        """The start of the first node beyond the limit, or of its parent."""


def roots(text: str) -> Iterator[tuple[Any, int]]:
    """Yields the root node and the number of nodes of every document."""
    from yaml import MarkedYAMLError

    loader = _loader()(text)
    try:
        while loader.check_node():
            yield loader.get_node(), loader.node_count
    except MarkedYAMLError as error:
        # The scanner of newer versions of libyaml has a limit too, and reads brackets ahead of the nodes.
        if "nesting depth" in (error.problem or ""):
            raise LimitError("the document is nested more than 1000 levels deep", error.problem_mark) from error
        raise
    finally:
        loader.dispose()


@cache
def _loader() -> Any:
    import yaml

    base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

    class LimitedLoader(base):  # type: ignore[misc]
        """Composes nodes within limits. Without a limit, deep nesting overflows the stack of the C code."""

        depth = node_count = 0

        def descend_resolver(self, current_node: Any, current_index: Any) -> None:
            """Counts a node. PyYAML calls the method before every node, with the node's parent or None for a root."""
            self.depth += 1
            self.node_count = 1 if current_node is None else self.node_count + 1
            if self.depth > PARSER_DEPTH_MAX:
                raise LimitError(
                    f"the document is nested more than {PARSER_DEPTH_MAX} levels deep", current_node.start_mark
                )
            if self.node_count > NODES_MAX:
                raise LimitError(f"the document has more than {NODES_MAX} keys and values", current_node.start_mark)

        def ascend_resolver(self) -> None:
            """Leaves a node. PyYAML calls the method after every node."""
            self.depth -= 1

    return LimitedLoader


@dataclass(frozen=True, slots=True)
class Span:
    """A part of a text: offsets of its start and end, and the line and column of its start, counted from 0."""

    start: int
    end: int | None
    line: int
    column: int

    def of(self, text: str) -> str:
        """Returns the text between start and end."""
        return text[self.start : self.end]


FULL_TEXT = Span(0, None, 0, 0)
_DOTS = re.compile(r"(?:[ \t]*(?:#[^\r\n]*)?(?:\r\n|\r|\n))*\.\.\.(?=\s|\Z)")
"""The end mark of a document (...), with the comments before it. A YAML text cannot begin with an end mark."""


@lru_cache(maxsize=4)
def document_spans(text: str) -> list[Span]:
    """Returns the span of every document. With spans, a document can be parsed again without the rest of the file."""
    from yaml import YAMLError

    spans: list[Span] = []
    start, line, column = 0, 0, 0
    try:
        for root, _ in roots(text):
            end = root.end_mark
            spans.append(Span(start, end.index, line, column))
            start, line, column = end.index, end.line, end.column
            if dots := _DOTS.match(text, start):
                start, line, column = dots.end(), line + len(dots[0].splitlines()) - 1, 3
    except (YAMLError, ValueError, RecursionError):
        stream = json_spans(text)
        return stream if len(stream) > 1 else spans
    return spans


@lru_cache(maxsize=4)
def json_spans(text: str) -> list[Span]:
    """Returns the spans of a stream of JSON objects, which kubectl reads too; an empty list for any other text.

    Source: k8s.io/apimachinery v0.35 pkg/util/yaml/decoder.go, YAMLOrJSONDecoder
    """
    spans: list[Span] = []
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
        spans.append(Span(start, end, line, column))
        breaks = text.count("\n", start, end)
        line, column = line + breaks, end - text.rfind("\n", start, end) - 1 if breaks else column + end - start
        start = end
    return spans

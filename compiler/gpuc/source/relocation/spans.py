"""The places of keys, values and comments in a YAML text, as offsets."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from gpuc.documents.composer import events

_colon = re.compile(r"\s*:")
_header = re.compile(r"(?:&\S+\s+)?[|>]([-+0-9]*)")
_comment = re.compile(r"(?:^|(?<=[ \t]))#[^\r\n]*", re.MULTILINE)
_after_content = re.compile(r"[,:]?[ \t]+(?=#)")


class UnusualLayoutError(Exception):
    """gpuc cannot move the fields of a text and keep its layout."""


@dataclass(slots=True)
class Value:
    """The place of a value in a text."""

    start: int
    """The offset of the first character, or of the anchor before it."""
    end: int
    """The offset after the last character; in block style, after the last child."""
    style: Literal["plain", "text", "block text", "map", "flow map", "list", "flow list", "alias"]
    opening: int = 0
    """The offset of the opening bracket of a map in flow style."""
    entries: list[Entry] = field(default_factory=list)
    """The entries of a map."""

    def entry(self, key: object) -> Entry | None:
        """Returns the first entry with a key."""
        return next((entry for entry in self.entries if entry.key == key), None)


@dataclass(slots=True)
class Entry:
    """The place of an entry of a map."""

    key: str
    start: int
    """The offset of the key."""
    key_end: int
    value: Value


class Spans:
    """The places of all keys, values and comments of a text with one document.

    Raises:
        UnusualLayoutError: when the document has a key that is not a scalar, or is empty.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self._starts = [0, *(match.end() for match in re.finditer(r"\r\n|\n|\r", text))]
        self._scalars: list[tuple[int, int]] = []
        self._content_ends: dict[int, int] = {}
        """The offset after the last complete key or value of each line, by line."""
        self._events = events(text, is_fast=False)
        for event in self._events:
            if type(event).__name__ == "DocumentStartEvent":
                self.root = self._value(next(self._events))
                break
        else:
            raise UnusualLayoutError
        starts = filter(None, map(self.comment_start, self._content_ends))
        self.comment_columns = Counter(map(self.column, starts))
        """The number of comments after keys and values in each column."""

    def line(self, offset: int) -> int:
        """Returns the line of an offset, from 0."""
        return bisect_right(self._starts, offset) - 1

    def start_of(self, line: int) -> int:
        """Returns the offset at which a line begins; the end of the text for a line after the last one."""
        return self._starts[line] if line < len(self._starts) else len(self.text)

    def line_text(self, line: int) -> str:
        """Returns a line without its end."""
        return self.text[self.start_of(line) : self.start_of(line + 1)].rstrip("\r\n")

    @property
    def last_line(self) -> int:
        """The last line; an empty line if the text ends with the end of a line."""
        return len(self._starts) - 1

    def column(self, offset: int) -> int:
        """Returns the number of characters before an offset in its line."""
        return offset - self.start_of(self.line(offset))

    def comment_start(self, line: int) -> int | None:
        """Returns the offset of the comment after the keys and values of a line."""
        match = _after_content.match(self.text, self._content_ends.get(line, len(self.text)))
        return match.end() if match else None

    def comments(self) -> Iterator[str]:
        """Yields all comments, in the order of the text."""
        end = 0
        for start, scalar_end in [*self._scalars, (len(self.text), len(self.text))]:
            for match in _comment.finditer(self.text, end, start):
                yield match[0].rstrip()
            end = scalar_end

    def _value(self, event: Any) -> Value:
        kind, start, end = type(event).__name__, event.start_mark.index, event.end_mark.index
        if kind == "AliasEvent":
            return self._content(Value(start, end, "alias"))
        if kind == "ScalarEvent":
            return self._scalar(event)
        is_map, is_flow = kind == "MappingStartEvent", bool(event.flow_style)
        value = Value(start, end, "flow map" if is_map else "flow list", end - 1)
        if not is_flow:
            value.style = "map" if is_map else "list"
        while not type(event := next(self._events)).__name__.endswith("EndEvent"):
            if is_map:
                value.entries.append(self._entry(event))
                value.end = value.entries[-1].value.end
            else:
                value.end = self._value(event).end
        if is_flow:
            value.end = event.end_mark.index
            self._content(value)
        return value

    def _entry(self, event: Any) -> Entry:
        if type(event).__name__ != "ScalarEvent":
            raise UnusualLayoutError
        key = self._scalar(event)
        value = self._value(next(self._events))
        if value.start == value.end:  # the parser gives an empty value another place in each style
            colon = _colon.match(self.text, key.end)
            value.start = value.end = colon.end() if colon else key.end
        return Entry(event.value, key.start, key.end, value)

    def _scalar(self, event: Any) -> Value:
        start, end = event.start_mark.index, event.end_mark.index
        self._scalars.append((start, end))
        if event.style not in ("|", ">"):
            return self._content(Value(start, end, "plain" if event.style is None else "text"))
        header = _header.match(self.text, start)
        header_end = header.end() if header else start
        self._content_ends[self.line(start)] = header_end
        end = max(len(self.text[:end].rstrip()), header_end)
        if header and "+" in header[1]:  # empty lines at the end belong to the value
            end = len(self.text[: event.end_mark.index].removesuffix("\n").removesuffix("\r"))
        return Value(start, end, "block text")

    def _content(self, value: Value) -> Value:
        if value.start < value.end:
            line = self.line(value.end)
            self._content_ends[line] = max(value.end, self._content_ends.get(line, 0))
        return value

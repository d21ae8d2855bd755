"""The places of the entries and comments of a YAML text, as offsets."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import yaml

_DISTANCE = 2
"""The smallest number of spaces before a comment that keeps its column."""

_comment = re.compile(r"(?:^|(?<=[ \t]))#[^\r\n]*", re.MULTILINE)
_colon = re.compile(r"\s*:")


class UnusualLayoutError(Exception):
    """gpuc cannot move the fields of a text and keep its layout."""


class _Loader(yaml.SafeLoader):
    """Composes nodes with positions. An alias is a scalar, so that each node has one place."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if not self.check_event(yaml.AliasEvent):
            return super().compose_node(parent, index)
        event: Any = self.get_event()  # type: ignore[no-untyped-call]
        return yaml.ScalarNode("alias", event.anchor, event.start_mark, event.end_mark, style="*")


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """An entry of a map."""

    key: Any
    value: yaml.Node
    column: int
    """The column of the key, from 0."""
    start: int
    """The first character of the key."""
    key_end: int
    end: int
    """The place after the value; after the last entry of a map or list in block style."""

    @property
    def is_flow_map(self) -> bool:
        """Whether the value is a map in flow style."""
        return isinstance(self.value, yaml.MappingNode) and bool(self.value.flow_style)


class Layout:
    """A text, and the places of its entries and comments.

    Raises:
        YAMLError: when the text cannot be parsed.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.line_end = "\r\n" if "\r\n" in text else "\n"
        self.root: Any = yaml.compose(text, _Loader)
        self.comments = {self.line_start(place): place for place in self._comments()}
        """The place of each comment by the beginning of its line."""

    def comment_texts(self) -> Counter[str]:
        """Returns the texts of all comments with their numbers."""
        return Counter(self.text[place : self.next_line(place)].rstrip() for place in self.comments.values())

    def entries(self, value: yaml.Node) -> list[Entry]:
        """Returns the entries of a map; an empty list for another value."""
        pairs = value.value if isinstance(value, yaml.MappingNode) else ()
        return [
            Entry(
                key.value, child, key.start_mark.column, key.start_mark.index, key.end_mark.index, self._end(key, child)
            )
            for key, child in pairs
        ]

    def entry(self, value: yaml.Node, key: object) -> Entry | None:
        """Returns the entry of a map with a key."""
        return next((entry for entry in self.entries(value) if entry.key == key), None)

    def path(self, path: Iterable[object]) -> list[Entry]:
        """Returns the entries from the root to a path.

        Raises:
            UnusualLayoutError: when an alias is in the path.
        """
        found, value = [], self.root
        for step in path:
            entry = self.entry(value, step)
            if entry is None:
                raise UnusualLayoutError
            found.append(entry)
            value = entry.value
        return found

    def line_start(self, place: int) -> int:
        """Returns the beginning of the line of a place."""
        return self.text.rfind("\n", 0, place) + 1

    def next_line(self, place: int) -> int:
        """Returns the beginning of the next line; the end of the text after the last line."""
        return self.text.find("\n", place) + 1 or len(self.text)

    def is_blank(self, line: int) -> bool:
        """Returns whether a line, except the end of the text, has only spaces."""
        return line < len(self.text) and not self.text[line : self.next_line(line)].strip()

    def lines(self, entry: Entry) -> tuple[int, int]:
        """Returns the beginning and the end of the lines of an entry in block style, with its comments.

        Raises:
            UnusualLayoutError: when the line of the key has other text before the key.
        """
        start, end = self.line_start(entry.start), self.next_line(entry.end)
        if self.text[start : entry.start].strip(" "):
            raise UnusualLayoutError
        while start and self.text.startswith(" " * entry.column + "#", above := self.line_start(start - 1)):
            start = above
        line = end
        while line < len(self.text):
            content = self.text[line : self.next_line(line)].lstrip(" \t")
            is_deeper = self.next_line(line) - line - len(content) > entry.column
            line = self.next_line(line)
            if content.startswith("#") and is_deeper:
                end = line
            elif content.strip():
                break
        return start, end

    def flow_text(self, entry: Entry, name: str) -> str:
        """Returns an entry of a map in flow style with another key."""
        return self._new_key(entry, name) + self.text[entry.key_end : entry.end]

    def block_text(self, entry: Entry, name: str, column: int) -> str:
        """Returns the lines of an entry in block style with another key and column. Comments keep their columns."""
        start, end = self.lines(entry)
        return "".join(self._indented_lines(entry, start, end, name, column - entry.column))

    def _indented_lines(self, entry: Entry, start: int, end: int, name: str, shift: int) -> Iterator[str]:
        while start < end:
            line, next_line = self.text[start : self.next_line(start)], self.next_line(start)
            cut = self.comments.get(start, next_line) - start
            content, comment = line[:cut], line[cut:]
            if not content.strip():
                content, comment = line, ""
            before = len(content.rstrip())
            if start <= entry.start < next_line:
                content = content[: entry.column] + self._new_key(entry, name) + content[entry.key_end - start :]
            spaces = len(content) - len(content.lstrip(" "))
            if shift < 0:
                content = content[min(-shift, spaces) :]
            elif content.strip("\r\n"):
                content = " " * shift + content
            if comment:
                content = content.rstrip()
                room = cut - len(content)
                content += " " * (room if shift > 0 and room >= _DISTANCE else cut - before) + comment
            yield content
            start = next_line

    def _new_key(self, entry: Entry, name: str) -> str:
        """Returns the key with its new name, in the same quotes."""
        return self.text[entry.start : entry.key_end].replace(str(entry.key), name)

    def _end(self, key: yaml.Node, value: yaml.Node) -> int:
        start, end = value.start_mark.index, value.end_mark.index
        if start == end:  # the parser gives an empty value another place in each style
            colon = _colon.match(self.text, key.end_mark.index)
            return colon.end() if colon else key.end_mark.index
        if isinstance(value, yaml.CollectionNode) and not value.flow_style:
            last = value.value[-1]
            return self._end(*last) if isinstance(value, yaml.MappingNode) else self._end(last, last)
        if isinstance(value, yaml.ScalarNode) and value.style in ("|", ">"):
            return start + len(self.text[start:end].rstrip())
        return end

    def _comments(self) -> Iterator[int]:
        """Yields the places of all comments, in the order of the text."""
        end = 0
        for start, scalar_end in [*self._scalars(self.root), (len(self.text), len(self.text))]:
            yield from (match.start() for match in _comment.finditer(self.text, end, start))
            end = scalar_end

    def _scalars(self, node: yaml.Node) -> Iterator[tuple[int, int]]:
        """Yields the beginnings and ends of all scalars. The header of a block scalar may have a comment after it."""
        if isinstance(node, yaml.ScalarNode):
            start, end = node.start_mark.index, node.end_mark.index
            yield (min(self.next_line(start), end) if node.style in ("|", ">") else start), end
        else:
            for child in node.value:
                for part in child if isinstance(child, tuple) else (child,):
                    yield from self._scalars(part)

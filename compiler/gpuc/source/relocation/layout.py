"""Finds where the entries of maps and the comments are in a YAML text. All positions are numbers of characters."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeAlias

import yaml

_DISTANCE = 2
"""The smallest number of spaces before a comment that keeps its column."""

_comment = re.compile(r"(?:^|(?<=[ \t]))#[^\r\n]*", re.MULTILINE)
_colon = re.compile(r"\s*:")


Edit: TypeAlias = tuple[int, int, str]
"""The beginning and the end of a part of the text, and the new text."""


class UnusualLayoutError(Exception):
    """gpuc cannot move fields in the text of a YAML file without changing the layout of the file."""


class _Loader(yaml.SafeLoader):
    """Composes nodes with positions. An alias is a scalar, so that each node has one place."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.scalars: list[yaml.ScalarNode] = []
        """All keys and values that are scalars, in the order of the text."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        node: yaml.Node | None
        if self.check_event(yaml.AliasEvent):
            event: Any = self.get_event()  # type: ignore[no-untyped-call]
            node = yaml.ScalarNode("alias", event.anchor, event.start_mark, event.end_mark, style="*")
        else:
            node = super().compose_node(parent, index)
        if isinstance(node, yaml.ScalarNode):
            self.scalars.append(node)
        return node


class Entry:
    """An entry of a map in a YAML text: its key, its value and their positions."""

    def __init__(self, key: yaml.Node, value: yaml.Node, end: int) -> None:
        self.key: Any = key.value
        self.value = value
        self.column: int = key.start_mark.column
        """The column of the key, from 0."""
        self.start: int = key.start_mark.index
        """The first character of the key."""
        self.key_end: int = key.end_mark.index
        self.end = end
        """The place after the value; after the last entry of a map or list in block style."""

    @property
    def is_flow_map(self) -> bool:
        """Whether the value is a map in flow style."""
        return isinstance(self.value, yaml.MappingNode) and bool(self.value.flow_style)


class Layout:
    """A YAML text, with the positions of its entries and comments.

    Raises:
        YAMLError: when the text cannot be parsed.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.line_end = "\r\n" if "\r\n" in text else "\n"
        loader = _Loader(text)
        self.root: Any = loader.get_single_node()
        self.comment_places = {self.line_start(place): place for place in self._comments(loader.scalars)}
        """The place of each comment by the beginning of its line."""

    def comments(self) -> Counter[str]:
        """Returns the texts of all comments, and how often each occurs."""
        return Counter(self.text[place : self.next_line(place)].rstrip() for place in self.comment_places.values())

    def entries(self, value: yaml.Node) -> list[Entry]:
        """Returns the entries of a map; an empty list if the value is not a map."""
        pairs = value.value if isinstance(value, yaml.MappingNode) else ()
        return [Entry(key, child, self._end(key, child)) for key, child in pairs]

    def entry(self, value: yaml.Node, key: object) -> Entry | None:
        """Returns the entry with this key; None if the value is not a map or has no such key."""
        return next((entry for entry in self.entries(value) if entry.key == key), None)

    def path(self, path: Iterable[object]) -> list[Entry]:
        """Returns the entries of all keys on a path, from the root; an empty list for a missing key or an alias."""
        value, found = self.root, []
        for step in path:
            entry = self.entry(value, step)
            if entry is None:
                return []
            found.append(entry)
            value = entry.value
        return found

    def line_start(self, place: int) -> int:
        """Returns the position at which the line of a character begins."""
        return self.text.rfind("\n", 0, place) + 1

    def next_line(self, place: int) -> int:
        """Returns the position at which the next line begins; after the last line, the end of the text."""
        return self.text.find("\n", place) + 1 or len(self.text)

    def is_blank(self, line: int) -> bool:
        """Returns whether the line at a position has only spaces; False at the end of the text."""
        return line < len(self.text) and not self.text[line : self.next_line(line)].strip()

    def lines(self, entry: Entry) -> tuple[int, int]:
        """Returns where the lines of an entry in block style begin and end. Its comments are included.

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
        """Returns the text of an entry in flow style, with a new name as its key."""
        return self._new_key(entry, name) + self.text[entry.key_end : entry.end]

    def block_text(self, entry: Entry, name: str, column: int) -> str:
        """Returns the lines of an entry in block style, with a new key at a new column. Comments keep their columns."""
        start, end = self.lines(entry)
        return "".join(self._indented_lines(entry, start, end, name, column - entry.column))

    def _indented_lines(self, entry: Entry, start: int, end: int, name: str, shift: int) -> Iterator[str]:
        while start < end:
            line, next_line = self.text[start : self.next_line(start)], self.next_line(start)
            cut = self.comment_places.get(start, next_line) - start
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

    def _comments(self, scalars: Sequence[yaml.ScalarNode]) -> Iterator[int]:
        """Yields the places of all comments, in the order of the text: those between and after scalars."""
        end = 0
        for scalar in scalars:
            start, scalar_end = scalar.start_mark.index, scalar.end_mark.index
            if scalar.style in ("|", ">"):  # the header may have a comment after it
                start = min(self.next_line(start), scalar_end)
            yield from (match.start() for match in _comment.finditer(self.text, end, start))
            end = scalar_end
        yield from (match.start() for match in _comment.finditer(self.text, end))


def edited(text: str, edits: Iterable[Edit]) -> str:
    """Applies changes to a text, and returns the new text.

    Raises:
        UnusualLayoutError: when two changes overlap.
    """
    parts, end = [], 0
    for start, edit_end, new in sorted(edits, key=lambda edit: edit[:2]):
        if start < end:
            raise UnusualLayoutError
        parts += [text[end:start], new]
        end = edit_end
    return "".join([*parts, text[end:]])

"""The moved entries of a map with their comments, and their lines at another indentation."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from gpuc.source.relocation.spans import Entry, Spans, UnusualLayoutError, Value

LINE_LENGTH = 120
"""The longest line that gpuc writes if a map can be in block style instead."""
_DISTANCE = 2
"""The smallest number of spaces before a comment that keeps its column."""
STEP = 2
"""The indentation of entries in a file without other entries."""

_comma = re.compile(r"\s*(,?)")
_flow_signs = re.compile(r"[,\[\]{}]")


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a file without its end: the content, and the comment after it."""

    content: str
    comment: str = ""
    column: int = 0
    """The column of the comment, from 0."""
    gap: int = 0
    """The number of spaces before the comment."""
    is_aligned: bool = False
    """Whether another comment of the file has the same column."""

    def shifted(self, columns: int, suffix: str = "") -> str:
        """Returns the line with more or less indentation. A comment in the column of others stays there."""
        content = self.content
        if columns > 0 and content:
            content = " " * columns + content
        elif columns < 0:
            content = content[min(-columns, len(content) - len(content.lstrip(" "))) :]
        return self.before_comment(content + suffix)

    def before_comment(self, content: str) -> str:
        """Returns other content with the comment of this line, in the same column if others have it."""
        if not self.comment:
            return content
        content = content.rstrip()
        room = self.column - len(content)
        is_kept = self.is_aligned and room >= _DISTANCE
        distance = room if is_kept else self.gap
        return content + " " * distance + self.comment


@dataclass(frozen=True, slots=True)
class Chunk:
    """A moved entry of a map, with its comments."""

    above: tuple[Line, ...]
    """The comments directly above the key."""
    body: tuple[Line, ...]
    """The lines of the entry, from the key. In flow style they end before the comma."""
    piece: str
    """The text from the key to the end of the value."""
    column: int
    """The column of the key, from 0."""
    first: int
    """The first line in the file, from 0."""
    last: int
    is_alone: bool
    """Whether the lines contain nothing else."""
    fits_flow: bool
    """Whether the piece is one line, and has the same meaning in a map in flow style."""

    @property
    def comment(self) -> Line | None:
        """The comment after a value of one line."""
        return self.body[0] if self.body[0].comment else None

    @property
    def is_bare(self) -> bool:
        """Whether the entry fits into a map in flow style and has no comments."""
        return self.fits_flow and len(self.body) == 1 and not self.above and not self.comment

    @property
    def is_one_line(self) -> bool:
        """Whether the entry fits into a map in flow style, with its comment after the map."""
        return self.fits_flow and len(self.body) == 1

    def lines(self, column: int, suffix: str = "") -> Iterator[str]:
        """Yields the lines of the entry with its key at a column. The suffix follows the value."""
        shift = column - self.column
        yield from (line.shifted(shift) for line in (*self.above, *self.body[:-1]))
        yield self.body[-1].shifted(shift, suffix)


def block_chunk(spans: Spans, entry: Entry, name: str) -> Chunk:
    """Returns an entry of a map in block style.

    Args:
        name: the key at the new place.

    Raises:
        UnusualLayoutError: when the line of the key has other text before the key.
    """
    key_line, column = spans.line(entry.start), spans.column(entry.start)
    if spans.line_text(key_line)[:column].strip(" "):
        raise UnusualLayoutError
    last, first = last_line(spans, entry), _first_line(spans, key_line, column)
    body = [line_at(spans, line) for line in range(key_line, last + 1)]
    rest = body[0].content[column + entry.key_end - entry.start :]
    body[0] = replace(body[0], content=" " * column + _new_key(spans, entry, name) + rest)
    return _chunk(spans, entry, _piece(spans, entry, name), body, range(first, last + 1), is_alone=True)


def flow_chunk(spans: Spans, entry: Entry, name: str) -> Chunk:
    """Returns an entry of a map in flow style.

    Args:
        name: the key at the new place.
    """
    key_line, column, end = spans.line(entry.start), spans.column(entry.start), entry.value.end
    last = spans.line(end)
    comma = comma_after(spans.text, entry)
    rest = spans.text[(end if comma is None else comma + 1) : spans.start_of(last + 1)].strip()
    is_alone = not spans.line_text(key_line)[:column].strip() and (not rest or rest.startswith("#"))
    is_alone = is_alone and (comma is None or spans.line(comma) == last)
    first = _first_line(spans, key_line, column) if is_alone else key_line
    piece = _piece(spans, entry, name)
    body = [Line(text) for text in f"{' ' * column}{piece}".splitlines()]
    if is_alone and rest:
        body[-1] = replace(line_at(spans, last), content=body[-1].content)
    return _chunk(spans, entry, piece, body, range(first, last + 1), is_alone=is_alone)


def _chunk(spans: Spans, entry: Entry, piece: str, body: Sequence[Line], lines: range, *, is_alone: bool) -> Chunk:
    """Returns an entry with its text at the new place and its lines in the file."""
    return Chunk(
        above=tuple(line_at(spans, line) for line in range(lines.start, spans.line(entry.start))),
        body=tuple(body),
        piece=piece,
        column=spans.column(entry.start),
        first=lines.start,
        last=lines.stop - 1,
        is_alone=is_alone,
        fits_flow=_fits_flow(piece, entry.value),
    )


def comma_after(text: str, entry: Entry) -> int | None:
    """Returns the offset of the comma after an entry of a map in flow style; None if there is none."""
    match = _comma.match(text, entry.value.end)
    return match.start(1) if match and match[1] else None


def last_line(spans: Spans, entry: Entry) -> int:
    """Returns the last line of an entry of a map in block style, with the comments that are deeper than its key."""
    column = spans.column(entry.start)
    last = line = spans.line(entry.value.end)
    while line < spans.last_line:
        line += 1
        text = spans.line_text(line)
        content = text.lstrip(" \t")
        if content.startswith("#") and len(text) - len(content) > column:
            last = line
        elif content:
            break
    return last


def _first_line(spans: Spans, line: int, column: int) -> int:
    """Returns the first line of the comments directly above a key, with the indentation of the key."""
    above = " " * column + "#"
    while line > 0 and spans.line_text(line - 1).startswith(above):
        line -= 1
    return line


def line_at(spans: Spans, line: int) -> Line:
    """Returns a line of a file. A line that has only a comment is content."""
    text, start = spans.line_text(line), spans.comment_start(line)
    if start is None:
        return Line(text)
    column = spans.column(start)
    content = text[:column].rstrip()
    return Line(content, text[column:], column, column - len(content), spans.comment_columns[column] > 1)


def _piece(spans: Spans, entry: Entry, name: str) -> str:
    return _new_key(spans, entry, name) + spans.text[entry.key_end : entry.value.end]


def _new_key(spans: Spans, entry: Entry, name: str) -> str:
    """Returns the key with its new name, in the same quotes."""
    key = spans.text[entry.start : entry.key_end]
    return key.replace(entry.key, name) if entry.key in key else name


def _fits_flow(piece: str, value: Value) -> bool:
    """Returns whether an entry is one line without a meaning of its own in block style."""
    if value.start == value.end or value.style in ("map", "list", "block text") or "\n" in piece or "\r" in piece:
        return False
    return value.style != "plain" or not _flow_signs.search(piece.partition(":")[2])

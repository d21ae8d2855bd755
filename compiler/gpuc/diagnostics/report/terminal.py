"""Text for a terminal: colours, escaped control characters, widths in columns, line breaks, and excerpts of lines."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple, TextIO

from gpuc.diagnostics.report.document import Block, Code, Fold, Heading, Item, Line, Span, Table, Wrapped
from gpuc.diagnostics.words import shortened

_EXCERPT_COLUMNS = 160
_CONTEXT_COLUMNS = 60
_NARROWEST, _WIDEST = 40, 120
"""Bounds of the line length: a long line is hard to read also on a wide terminal."""


def wants_colour(stream: TextIO | None, environment: Mapping[str, str]) -> bool:
    """Returns whether text on the stream has colours. NO_COLOR takes precedence over FORCE_COLOR.

    Without these variables, text has colours on a terminal.

    Source: https://no-color.org and https://force-color.org
    """
    if environment.get("NO_COLOR"):
        return False
    if environment.get("FORCE_COLOR"):
        return True
    return is_terminal(stream) and environment.get("TERM") != "dumb"


def is_terminal(stream: TextIO | None) -> bool:
    """Returns whether the stream is open and is a terminal."""
    return stream is not None and not stream.closed and stream.isatty()


class Style(NamedTuple):
    """How a stream shows text."""

    colour: bool = False
    width: int | None = None
    """The maximum number of columns of a line; None for no line breaks."""


PLAIN = Style()


def printed(blocks: Iterable[Block], style: Style = PLAIN) -> str:
    """Returns a report as lines for a terminal, with escapes for control characters."""
    return "".join(f"{line}\n" for block in blocks for line in _lines(block, style))


def _lines(block: Block, style: Style) -> Iterator[str]:
    match block:
        case Heading(line=line):
            yield _line(line, style, "1")
        case Wrapped(line=line, indent=indent):
            yield _wrapped_line(line, indent, style)
        case Item():
            yield from _item(block, style)
        case Table():
            yield from _rows(block, style)
        case Code(lines=lines):
            yield from map(visible, lines)
        case Fold(summary=summary, blocks=blocks):
            yield _line(summary, style)
            yield from (f"  {line}".rstrip() for inner in blocks for line in _lines(inner, style))
        case _:
            yield _line(block, style)


def _line(line: Line, style: Style, colour: str = "") -> str:
    return "".join(_painted(span, style) for span in _spans(line, colour)).rstrip(" ")


def _spans(line: Line, colour: str = "") -> list[Span]:
    """Returns the visible texts of a line. The colour is for parts that have none."""
    parts = line if isinstance(line, tuple) else (line,)
    spans = [part if isinstance(part, Span) else Span(str(part)) for part in parts]
    return [Span(visible(span.text), span.colour or colour) for span in spans]


def _painted(span: Span, style: Style) -> str:
    return f"\x1b[{span.colour}m{span.text}\x1b[0m" if style.colour and span.colour and span.text else span.text


def _wrapped_line(line: Line, indent: int, style: Style) -> str:
    """Returns a line whose last part is broken at its line breaks and at the width."""
    *parts, last = line if isinstance(line, tuple) else (line,)
    before = _spans(tuple(parts))
    text, colour = (last.text, last.colour) if isinstance(last, Span) else (str(last), "")
    first = sum(column_width(span.text) for span in before)
    lines = [
        wrapped(visible(text_line), style.width, first=indent if number else first, indent=indent)
        for number, text_line in enumerate(text.splitlines())
    ]
    shown = Span(f"\n{' ' * indent}".join(lines), colour)
    return "".join(_painted(span, style) for span in (*before, shown)).rstrip(" ")


def _item(item: Item, style: Style) -> Iterator[str]:
    """Yields the lines of an item: the label and the line, and below them the place, the notes and the details."""
    label = _spans((item.label, "  ")) if item.label else []
    indent = sum(column_width(span.text) for span in (Span(item.lead), *label))
    line = item.line if isinstance(item.line, tuple) else (item.line,)
    yield _wrapped_line((item.lead, *label, *line), indent if label else indent + 2, style)
    if item.place:
        yield " " * indent + _line(item.place, style, "2")
    for note in (*item.notes, *item.details):
        yield _wrapped_line((" " * indent, *(note if isinstance(note, tuple) else (note,))), indent + 2, style)


def _rows(table: Table, style: Style) -> Iterator[str]:
    rows = [
        [Span(shortened(span.text, table.longest), span.colour) for cell in row for span in _spans(cell)]
        for row in table.rows
    ]
    widths = [max(column_width(span.text) for span in column) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [
            _painted(Span(padded(span.text, width), span.colour), style)
            for span, width in zip(row, widths, strict=True)
        ]
        yield (table.lead + table.gap.join(cells)).rstrip(" ")


def style_of(stream: TextIO | None, environment: Mapping[str, str]) -> Style:
    """Returns the style of a stream. Only lines on a terminal, and not in a CI job, have a maximum width."""
    colour = wants_colour(stream, environment)
    if stream is None or not is_terminal(stream) or environment.get("CI"):
        return Style(colour)
    try:
        columns = os.get_terminal_size(stream.fileno()).columns
    except OSError:
        return Style(colour)
    return Style(colour, min(columns, _WIDEST) if columns >= _NARROWEST else None)


def wrapped(text: str, width: int | None, *, first: int, indent: int) -> str:
    """Returns one line of text, broken at spaces into lines of at most a width. A longer word is not broken.

    Args:
        width: the maximum number of columns of a line; None for no line breaks.
        first: the number of columns before the text in its first line.
        indent: the number of spaces before the other lines.
    """
    if width is None or first + column_width(text) <= width:
        return text
    head, *words = text.split(" ")
    lines, column = [head], first + column_width(head)
    for word in words:
        column += 1 + column_width(word)
        if column > width:
            lines.append(" " * indent + word)
            column = indent + column_width(word)
        else:
            lines[-1] += f" {word}"
    return "\n".join(lines)


def visible(text: str) -> str:
    """Returns the text with an escape for each control character, and with a space for each tab."""
    text = text.replace("\t", " ")
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else _escape(char) for char in text)


def _escape(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")


def column_width(text: str) -> int:
    """Returns the number of terminal columns of the visible text. East Asian wide characters have two columns."""
    shown = visible(text)
    if shown.isascii():
        return len(shown)
    from unicodedata import combining, east_asian_width

    return sum(0 if combining(char) else 1 + (east_asian_width(char) in "WF") for char in shown)


def padded(text: str, width: int) -> str:
    """Returns the text with spaces at its end, up to a number of columns."""
    return text + " " * (width - column_width(text))


def clipped(line: str, column: int) -> tuple[str, int]:
    """Returns an excerpt of a long line around the column, and the column in the excerpt. Columns begin at 1."""
    column = min(max(column, 1), len(line) + 1)
    if len(line) <= _EXCERPT_COLUMNS:
        return line, column
    start = max(0, column - 1 - _CONTEXT_COLUMNS)
    excerpt = line[start : start + _EXCERPT_COLUMNS]
    head = "..." if start else ""
    tail = "..." if start + _EXCERPT_COLUMNS < len(line) else ""
    return head + excerpt + tail, column - start + len(head)

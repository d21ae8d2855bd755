"""Functions for text on a terminal: colours, escapes for control characters, widths in columns, and line breaks."""

import os
from collections.abc import Mapping
from typing import NamedTuple, TextIO

_EXCERPT_COLUMNS = 160
_CONTEXT_COLUMNS = 60
_NARROWEST, _WIDEST = 40, 120
"""Bounds of the line length: a long line is hard to read also on a wide terminal."""


def wants_colour(stream: TextIO | None, environment: Mapping[str, str]) -> bool:
    """Returns whether gpuc writes colours to a stream. The variable NO_COLOR takes precedence over FORCE_COLOR.

    Without these environment variables, only a terminal gets colours.

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
    """How gpuc formats text for a stream: colours, and the width of lines."""

    colour: bool = False
    width: int | None = None
    """The maximum number of columns of a line; None for no line breaks."""


PLAIN = Style()


def style_of(stream: TextIO | None, environment: Mapping[str, str]) -> Style:
    """Returns the style for a stream. Lines have a maximum width only on a terminal, and not in a CI job."""
    colour = wants_colour(stream, environment)
    if stream is None or not is_terminal(stream) or environment.get("CI"):
        return Style(colour)
    try:
        columns = os.get_terminal_size(stream.fileno()).columns
    except OSError:
        return Style(colour)
    return Style(colour, min(columns, _WIDEST) if columns >= _NARROWEST else None)


def wrapped(text: str, width: int | None, *, first: int, indent: int) -> str:
    """Breaks a text at spaces into lines with a maximum width. A word that is longer than the width is not broken.

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
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in text)


def column_width(text: str) -> int:
    """Returns how many terminal columns a text takes. Wide East Asian characters take two columns."""
    shown = visible(text)
    if shown.isascii():
        return len(shown)
    from unicodedata import combining, east_asian_width

    return sum(0 if combining(char) else 1 + (east_asian_width(char) in "WF") for char in shown)


def padded(text: str, width: int) -> str:
    """Returns the text with spaces at its end, so that it takes this number of terminal columns."""
    return text + " " * (width - column_width(text))


def clipped(line: str, column: int) -> tuple[str, int]:
    """Returns the part of a long line around a column, and the column in this part. Columns begin at 1."""
    column = min(max(column, 1), len(line) + 1)
    if len(line) <= _EXCERPT_COLUMNS:
        return line, column
    start = max(0, column - 1 - _CONTEXT_COLUMNS)
    excerpt = line[start : start + _EXCERPT_COLUMNS]
    head = "..." if start else ""
    tail = "..." if start + _EXCERPT_COLUMNS < len(line) else ""
    return head + excerpt + tail, column - start + len(head)

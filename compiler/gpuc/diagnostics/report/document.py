"""The classes of a report: lines, tables and lists. A printer converts a report into text, and escapes the texts in it.

The modules printer.py and markdown.py contain the printers for a terminal and for Markdown. `json_text` prints data as
JSON.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import Any, TypeAlias

from msgspec import Struct

from gpuc import __version__
from gpuc.diagnostics.finding import Mark


class Span(Struct, frozen=True):
    """A part of a line that is shown with its own colour or emphasis."""

    text: str
    colour: str = ""
    """SGR parameters such as "1;31", for a terminal; empty for no colour."""
    markup: str = ""
    """The sign around the text in Markdown: "**" for strong text, "`" for code; empty for no markup."""


Part: TypeAlias = str | Span | Mark
"""A mark is a file, line and column on a terminal, and code with the file and line in Markdown."""
Line: TypeAlias = Part | tuple[Part, ...]


def parts_of(line: Line) -> tuple[Part, ...]:
    """Returns the parts of a line as a tuple, also for a line that is only one part and therefore no tuple."""
    return line if isinstance(line, tuple) else (line,)


def strong(text: str, colour: str = "1") -> Span:
    """Returns an emphasized part of a line: bold in Markdown, and in a colour (bold by default) on a terminal."""
    return Span(text, colour, "**")


class Heading(Struct, frozen=True):
    """A title above the parts of the report that follow."""

    line: Line
    level: int = 2
    """The level in Markdown, from 1. On a terminal, a heading is a bold line."""


class Wrapped(Struct, frozen=True):
    """A line whose last part is broken into several lines if it is longer than the width of the terminal."""

    line: Line
    indent: int
    """The number of columns before the further lines."""


class Item(Struct, frozen=True):
    """An element of a list in a report, with notes. Markdown shows its position and label in parentheses at the end."""

    line: Line
    label: Part = ""
    """What kind of element this is, for example the id of a rule."""
    place: Line = ""
    """Where the element comes from."""
    notes: Sequence[Line] = ()
    details: Sequence[Line] = ()
    """Further notes. Markdown shows several details after a click."""
    lead: str = "  "
    """The text before the element on a terminal."""


class Table(Struct, frozen=True):
    """A table with aligned columns. Markdown shows the first row as the headings of the columns."""

    rows: Sequence[Sequence[Part]]
    gap: str = "  "
    """The text between two columns on a terminal."""
    longest: int = 1_000
    """The largest number of characters of a cell on a terminal, where a longer text is cut."""


class Code(Struct, frozen=True):
    """Lines that are shown unchanged, for example YAML."""

    lines: Sequence[str]
    language: str = ""


class Fold(Struct, frozen=True):
    """A part of the report that Markdown shows only after a click on its summary."""

    summary: Part
    blocks: "Sequence[Block]"


Block: TypeAlias = "Line | Heading | Wrapped | Item | Table | Code | Fold"


def section(title: str, items: Iterable[Line | Item]) -> list[Block]:
    """Returns a heading and a list of items; an empty list if there are no items."""
    listed = [item if isinstance(item, Item) else Item(item, lead="  - ") for item in items]
    return ["", Heading(title, 3), *listed] if listed else []


def json_text(data: Mapping[str, Any], version: int, *, indent: int = 2, ascii_only: bool = True) -> str:
    """Returns data as a JSON document, with the version of its format (`version`) and the version of gpuc (`gpuc`)."""
    document = {"version": version, "gpuc": __version__, **data}
    return json.dumps(document, indent=indent, ensure_ascii=ascii_only, default=_plain) + "\n"


def picked(value: object, names: str) -> dict[str, Any]:
    """Returns some attributes of an object by their names, for a JSON document. Spaces separate the names."""
    return {name: getattr(value, name) for name in names.split()}


def position(mark: Mark | None, file: str | None = None) -> dict[str, Any]:
    """Returns the keys file, line and column for a JSON document. Without a mark, line and column are None."""
    return picked(mark, "file line column") if mark else {"file": file, "line": None, "column": None}


def _plain(value: object) -> object:
    """Returns the value of an enumeration, as json.dumps writes it."""
    if isinstance(value, Enum):
        return value.value
    raise TypeError(f"JSON has no form for {value!r}")

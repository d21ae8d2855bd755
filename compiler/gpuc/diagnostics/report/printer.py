"""Prints reports on a terminal: colours, aligned columns, line breaks, and escapes for control characters."""

from collections.abc import Iterable, Iterator

from gpuc.diagnostics.report.document import Block, Code, Fold, Heading, Item, Line, Span, Table, Wrapped, parts_of
from gpuc.diagnostics.report.terminal import PLAIN, Style, column_width, padded, visible, wrapped
from gpuc.diagnostics.words import shortened


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
    return "".join(_painted(text, own, style) for text, own in _texts(line, colour)).rstrip(" ")


def _texts(line: Line, colour: str = "") -> list[tuple[str, str]]:
    """Returns the visible text and the colour of each part. A part without a colour has the colour of the line."""
    return [
        (visible(part.text), part.colour or colour) if isinstance(part, Span) else (visible(str(part)), colour)
        for part in parts_of(line)
    ]


def _painted(text: str, colour: str, style: Style) -> str:
    return f"\x1b[{colour}m{text}\x1b[0m" if style.colour and colour and text else text


def _wrapped_line(line: Line, indent: int, style: Style) -> str:
    """Returns a line whose last part is broken at its line breaks and at the width."""
    *parts, last = parts_of(line)
    before = _texts(tuple(parts))
    text, colour = (last.text, last.colour) if isinstance(last, Span) else (str(last), "")
    first = sum(column_width(shown) for shown, _ in before) if style.width else 0
    lines = [
        wrapped(visible(text_line), style.width, first=indent if number else first, indent=indent)
        for number, text_line in enumerate(text.splitlines())
    ]
    last_lines = f"\n{' ' * indent}".join(lines)
    return "".join(_painted(shown, own, style) for shown, own in (*before, (last_lines, colour))).rstrip(" ")


def _item(item: Item, style: Style) -> Iterator[str]:
    """Yields the lines of an item: the label and the line, and below them the place, the notes and the details."""
    label = (item.label, "  ") if item.label else ()
    indent = len(item.lead) + (sum(column_width(text) for text, _ in _texts(label)) or 2)
    yield _wrapped_line((item.lead, *label, *parts_of(item.line)), indent, style)
    if item.place:
        yield " " * indent + _line(item.place, style, "2")
    for note in (*item.notes, *item.details):
        yield _wrapped_line((" " * indent, *parts_of(note)), indent + 2, style)


def _rows(table: Table, style: Style) -> Iterator[str]:
    rows = [[(shortened(text, table.longest), colour) for text, colour in _texts(tuple(row))] for row in table.rows]
    widths = [max(column_width(text) for text, _ in column) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [
            _painted(padded(text, width), colour, style) for (text, colour), width in zip(row, widths, strict=True)
        ]
        yield table.gap.join(cells).rstrip(" ")

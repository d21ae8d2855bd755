"""The printer of reports for a terminal: colours, aligned columns, line breaks, and escapes for control characters."""

from __future__ import annotations

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
    return "".join(_painted(span, style) for span in _spans(line, colour)).rstrip(" ")


def _spans(line: Line, colour: str = "") -> list[Span]:
    """Returns the visible texts of a line. The colour is for parts that have none."""
    spans = [part if isinstance(part, Span) else Span(str(part)) for part in parts_of(line)]
    return [Span(visible(span.text), span.colour or colour) for span in spans]


def _painted(span: Span, style: Style) -> str:
    return f"\x1b[{span.colour}m{span.text}\x1b[0m" if style.colour and span.colour and span.text else span.text


def _wrapped_line(line: Line, indent: int, style: Style) -> str:
    """Returns a line whose last part is broken at its line breaks and at the width."""
    *parts, last = parts_of(line)
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
    indent = len(item.lead) + (sum(column_width(span.text) for span in label) or 2)
    yield _wrapped_line((item.lead, *label, *parts_of(item.line)), indent, style)
    if item.place:
        yield " " * indent + _line(item.place, style, "2")
    for note in (*item.notes, *item.details):
        yield _wrapped_line((" " * indent, *parts_of(note)), indent + 2, style)


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
        yield table.gap.join(cells).rstrip(" ")

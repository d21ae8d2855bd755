"""Prints reports as Markdown for GitHub.

Users write the texts of specs and manifests, so the printer escapes them: Markdown shows the texts as they are written.
"""

import html
import re
from collections.abc import Iterable, Iterator

from gpuc.diagnostics.finding import Mark
from gpuc.diagnostics.report.document import (
    Block,
    Code,
    Fold,
    Heading,
    Item,
    Line,
    Part,
    Span,
    Table,
    Wrapped,
    parts_of,
)
from gpuc.diagnostics.report.terminal import visible

_BLOCK = re.compile(r"^(\d*)(?=[>+.)-])")
"""The start of a text that Markdown reads as a quote or an item of a list."""
_MARKDOWN = re.compile(r"[\\`*\[\]|~$#]|(?<![^\W_])_|_(?![^\W_])")
"""The signs that Markdown reads inside of a line."""
_JOINT = re.compile(
    r"@(?=\w)"  # mentions, mail addresses, and commits of other repositories
    r"|#(?=\d)|(?i:gh)-(?=\d)"  # references to issues
    r"|:(?=//)|www(?=\.)"  # addresses
    r"|(?<![\w:]):(?=[\w+-]+:)",  # emoji, but nothing in the middle of an ARN or a time, which people copy
    re.ASCII,  # for GitHub, a letter with an accent is no part of a name
)
_BAR = re.compile(r"(?<!\\)((?:\\\\)*)\|")
"""A bar in code, which ends a cell of a table, with the pairs of backslashes before it."""
_JOIN = "\x00"
"""Between two parts of a line until the line is complete. `visible` escapes the character in all texts."""
_SEAM = re.compile(r"(?<=[\w@#:/*`-])\x00(?=[\w./*`-])")
"""The place where two parts could together become a mention, a reference or an address."""
_BREAK = "\u200b"
"""A character without width. Between two characters, it prevents a mention, a reference or an address."""


def page(blocks: Iterable[Block]) -> str:
    """Returns a report as Markdown. Its parts are separated by empty lines, except for the items of a list."""
    text, was_item = "", False
    for block in blocks:
        if block != "":
            is_next = was_item and isinstance(block, Item)
            text += f"{_block(block)}\n" if is_next or not text else f"\n{_block(block)}\n"
        was_item = isinstance(block, Item)
    return text


def _block(block: Block) -> str:
    match block:
        case Heading(line=line, level=level):
            return f"{'#' * level} {_line(line)}"
        case Wrapped(line=line):
            return _line(line)
        case Item():
            return "\n".join(_item(block))
        case Table(rows=rows):
            head, *others = [f"| {' | '.join(map(_cell, row))} |" for row in rows]
            return "\n".join([head, f"|{' --- |' * len(rows[0])}", *others])
        case Code(lines=lines, language=language):
            return fenced(lines, language)
        case Fold(summary=summary, blocks=blocks):
            plain = _JOINT.sub(rf"\g<0>{_BREAK}", html.escape(_one_line(str(summary))))
            text = html_code(summary.text) if isinstance(summary, Span) else plain
            return f"<details><summary>{text}</summary>\n\n{page(blocks)}</details>"
        case _:
            return _line(block)


def _item(item: Item) -> Iterator[str]:
    behind = ", ".join(_line(line) for line in (item.place, item.label) if line)
    yield f"- {_line(item.line)}" + (f" ({behind})" if behind else "")
    details = [_line(detail) for detail in item.details]
    yield from (f"  - {note}" for note in (*map(_line, item.notes), *(details if len(details) == 1 else ())))
    if len(details) > 1:
        rows = "\n".join(f"    - {detail}" for detail in details)
        yield f"  - <details><summary>details</summary>\n\n{rows}\n\n    </details>"


def _cell(part: Part) -> str:
    return _in_line(part) if isinstance(part, str) else _BAR.sub(r"\1\\|", _part(part))


def _line(line: Line) -> str:
    return _SEAM.sub(_BREAK, _JOIN.join(map(_part, parts_of(line)))).replace(_JOIN, "")


def _part(part: Part) -> str:
    if isinstance(part, Mark):
        return code(f"{part.file}:{part.line}")
    if isinstance(part, Span) and part.text:
        return code(part.text) if part.markup == "`" else f"{part.markup}{escaped(part.text)}{part.markup}"
    text = part if isinstance(part, str) else part.text
    return " " * text[:1].isspace() + escaped(text) + " " * text[-1:].isspace() if text.strip() else " " * bool(text)


def escaped(text: str) -> str:
    """Returns a text in one line that Markdown shows unchanged: without mentions, references, links and emoji."""
    return _BLOCK.sub(r"\1\\", _in_line(text))


def _in_line(text: str) -> str:
    """Returns a text for the middle of a line, where nothing is a quote or an item of a list."""
    line = _one_line(text).replace("&", "&amp;").replace("<", "&lt;")
    return _JOINT.sub(rf"\g<0>{_BREAK}", _MARKDOWN.sub(r"\\\g<0>", line))


def code(text: str) -> str:
    """Returns a text as inline code, in one line."""
    line = _one_line(text)
    ticks = "`" * (max((len(run) for run in re.findall("`+", line)), default=0) + 1)
    space = " " if line.startswith("`") or line.endswith("`") or not line else ""
    return f"{ticks}{space}{line}{space}{ticks}"


def fenced(lines: Iterable[str], language: str = "diff") -> str:
    """Returns lines as a code block in Markdown. No text in the lines can end the block."""
    shown = [visible(line) for line in lines]
    longest = max((len(run) for line in shown for run in re.findall("`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    return "\n".join([f"{fence}{language}", *shown, fence])


def html_code(text: str) -> str:
    """Returns a text in one line as the HTML element <code>, in which GitHub does not mention users."""
    return f"<code>{html.escape(_one_line(text)).replace('`', '&#96;')}</code>"


def _one_line(text: str) -> str:
    """Returns the text in one line, with escapes for control characters, also those that change the direction."""
    return visible(" ".join(text.split()))

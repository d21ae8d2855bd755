"""Formats, tables and sections of the reports of rehearsals."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from gpuc import __version__
from gpuc.diagnostics.report.terminal import Paint, visible

VERSION = 2
"""Version of the JSON reports; it increases if a key is removed or changes its meaning."""
R = TypeVar("R")
Sections = Iterable[tuple[str, Sequence[str]]]
"""(title, sentences) of each section."""


def rendered(
    form: str, results: Sequence[R], paint: Paint, key: str,
    text: Callable[[R, Paint], str], markdown: Callable[[R], str], document: Callable[[R], dict[str, Any]],
) -> str:  # fmt: skip
    """Returns the report as text, json or markdown, with a line break at the end.

    key: the key of the results in the JSON document.

    Raises:
        KeyError: for an unknown format.
    """
    match form:
        case "text":
            return "\n".join(text(result, paint) for result in results)
        case "json":
            report = {"version": VERSION, "gpuc": __version__, key: [document(result) for result in results]}
            return json.dumps(report, indent=2) + "\n"
        case "markdown":
            return "\n".join(markdown(result) for result in results)
    raise KeyError(form)


def columns(rows: Iterable[tuple[str, ...]]) -> list[str]:
    """Returns the rows as lines with aligned columns."""
    visible_rows = [tuple(visible(cell) for cell in row) for row in rows]
    widths = [max(map(len, column)) for column in zip(*visible_rows, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in visible_rows
    ]


def table(headings: tuple[str, ...], rows: Iterable[tuple[str, ...]], *, last: str = "---") -> list[str]:
    """Returns the lines of a Markdown table.

    last: the alignment of the last column, for example `---:` for right.
    """
    header = [f"| {' | '.join(headings)} |", f"| {' | '.join([*('---' for _ in headings[1:]), last])} |"]
    return [*header, *(f"| {' | '.join(visible(cell).replace('|', chr(92) + '|') for cell in row)} |" for row in rows)]


def sections(titled: Sections, title: str, bullet: str) -> Iterator[str]:
    """Yields the lines of all sections: the formatted title, and each sentence after a bullet."""
    for name, sentences in titled:
        yield from ("", title.format(name), *(f"{bullet}{visible(sentence)}" for sentence in sentences))


def shortened(text: str, length: int) -> str:
    """Returns the text, shortened to a maximum length."""
    return text if len(text) <= length else f"{text[: length - 3]}..."

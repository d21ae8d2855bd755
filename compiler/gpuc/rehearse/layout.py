"""Formats, tables and sections that all reports of rehearsals use."""

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
    """The report in text, json (results under the key) or markdown, ending in a line break.

    Raises:
        KeyError: for an unknown format.
    """
    match form:
        case "text":
            return "\n".join(text(result, paint) for result in results)
        case "json":
            document_of_all = {"version": VERSION, "gpuc": __version__, key: [document(result) for result in results]}
            return json.dumps(document_of_all, indent=2) + "\n"
        case "markdown":
            return "\n".join(markdown(result) for result in results)
    raise KeyError(form)


def columns(rows: Iterable[tuple[str, ...]]) -> list[str]:
    """Lines with aligned columns."""
    shown = [tuple(visible(cell) for cell in row) for row in rows]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in shown]


def table(headings: tuple[str, ...], rows: Iterable[tuple[str, ...]], *, last: str = "---") -> list[str]:
    """A Markdown table; last is the alignment of the last column."""
    marks = [f"| {' | '.join(headings)} |", f"| {' | '.join([*('---' for _ in headings[1:]), last])} |"]
    return [*marks, *(f"| {' | '.join(visible(cell).replace('|', chr(92) + '|') for cell in row)} |" for row in rows)]


def sections(found: Sections, title: str, mark: str) -> Iterator[str]:
    """The lines of all sections: the title, and the sentences with a mark in front."""
    for name, sentences in found:
        yield from ("", title.format(name), *(f"{mark}{visible(sentence)}" for sentence in sentences))


def shortened(text: str, length: int) -> str:
    """The text, shortened to a maximum length."""
    return text if len(text) <= length else f"{text[: length - 3]}..."

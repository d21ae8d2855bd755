"""What reports of rehearsals have in common: their forms, tables, and lists of sentences."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from gpuc import __version__
from gpuc.diagnostics.report.terminal import Paint, visible

VERSION = 1
"""Of the JSON reports; it grows when a key changes its meaning or goes."""
R = TypeVar("R")
Sections = Iterable[tuple[str, Sequence[str]]]
"""Sentences by title."""


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
            whole = {"version": VERSION, "gpuc": __version__, key: [document(result) for result in results]}
            return json.dumps(whole, indent=2) + "\n"
        case "markdown":
            return "\n".join(markdown(result) for result in results)
    raise KeyError(form)


def columns(rows: Iterable[tuple[str, ...]]) -> list[str]:
    """Rows in columns, all but the last as wide as their widest cell."""
    shown = [tuple(visible(cell) for cell in row) for row in rows]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in shown]


def table(headings: tuple[str, ...], rows: Iterable[tuple[str, ...]], *, last: str = "---") -> list[str]:
    """Rows as Markdown's tables; last aligns the last column."""
    marks = [f"| {' | '.join(headings)} |", f"| {' | '.join([*('---' for _ in headings[1:]), last])} |"]
    return [*marks, *(f"| {' | '.join(visible(cell).replace('|', chr(92) + '|') for cell in row)} |" for row in rows)]


def sections(found: Sections, title: str, mark: str) -> Iterator[str]:
    """Lists of sentences, each below its title and behind a mark."""
    for name, sentences in found:
        yield from ("", title.format(name), *(f"{mark}{visible(sentence)}" for sentence in sentences))


def shortened(words: str, most: int) -> str:
    """At most so many characters."""
    return words if len(words) <= most else f"{words[: most - 3]}..."

"""Formats, tables and sections of the reports of rehearsals."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from gpuc import __version__
from gpuc.diagnostics.report.terminal import Paint, visible

R = TypeVar("R")
Sections = Iterable[tuple[str, Sequence[str]]]
"""(title, sentences) of each section."""


@dataclass(frozen=True)
class Report(Generic[R]):
    """The formats of a report of results."""

    key: str
    """The key of the results in the JSON document."""
    version: int
    """Version of the JSON document; it increases if a key is removed or changes its meaning."""
    text: Callable[[R, Paint], str]
    markdown: Callable[[R], str]
    document: Callable[[R], dict[str, Any]]

    def render(self, form: str, results: Sequence[R], *, colour: bool = False) -> str:
        """Returns the report as text, json or markdown, with a line break at the end.

        Raises:
            KeyError: for an unknown format.
        """
        match form:
            case "text":
                return "\n".join(self.text(result, Paint(colour)) for result in results)
            case "json":
                documents = [self.document(result) for result in results]
                report = {"version": self.version, "gpuc": __version__, self.key: documents}
                return json.dumps(report, indent=2) + "\n"
            case "markdown":
                return "\n".join(self.markdown(result) for result in results)
        raise KeyError(form)


def text_report(lines: Iterable[str], sections: Sections, seconds: Mapping[str, float], summary: str) -> str:
    """Returns a text report: its lines, the sections, the duration of each step, and the summary."""
    steps = ", ".join(f"{name} {taken:.1f} s" for name, taken in seconds.items())
    return "\n".join([*lines, *_lines_of(sections, "{}:", "  - "), "", steps, summary, ""])


def markdown_report(lines: Iterable[str], sections: Sections) -> str:
    """Returns a Markdown report: its lines, and the sections with headings."""
    return "\n".join([*lines, *_lines_of(sections, "### {}\n", "- "), ""])


def good_or_not(is_good: bool, paint: Paint) -> str:
    """Returns the last words of a text report."""
    return paint("1;32", "good") if is_good else paint("1;31", "not good")


def rounded(record: Mapping[str, Any]) -> dict[str, Any]:
    """Returns values, such as durations of steps, for a JSON document: numbers with at most two decimal places."""
    return {name: round(value, 2) if isinstance(value, float) else value for name, value in record.items()}


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


def shortened(text: str, length: int) -> str:
    """Returns the text, shortened to a maximum length."""
    return text if len(text) <= length else f"{text[: length - 3]}..."


def _lines_of(sections: Sections, title: str, bullet: str) -> Iterator[str]:
    for name, sentences in sections:
        yield from ("", title.format(name), *(f"{bullet}{visible(sentence)}" for sentence in sentences))

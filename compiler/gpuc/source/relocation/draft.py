"""Changes of a text that keep all other characters."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gpuc.source.relocation.chunks import Chunk, comma_after
from gpuc.source.relocation.spans import Entry, Spans, UnusualLayoutError


class Draft:
    """Collects the changes of a text."""

    def __init__(self, spans: Spans) -> None:
        self.spans = spans
        self._edits: list[tuple[int, int, str]] = []
        self._removed: set[int] = set()
        self._filled: set[int] = set()
        """The lines before which lines are inserted."""
        self._line_end = "\r\n" if "\r\n" in spans.text else "\n"

    def insert(self, line: int, lines: Iterable[str]) -> None:
        """Inserts lines before a line."""
        start = self.spans.start_of(line)
        self._edits.append((start, start, "".join(text + self._line_end for text in lines)))
        self._filled.add(line)

    def replace(self, start: int, end: int, text: str) -> None:
        """Replaces the text between two offsets."""
        self._edits.append((start, end, text))

    def remove_lines(self, first: int, last: int) -> None:
        """Removes the lines from the first to the last. Of two empty lines around them, one stays."""
        self._removed.update(range(first, last + 1))
        above, below = first - 1, last + 1
        while above in self._removed and above + 1 not in self._filled:
            above -= 1
        if above < 0 or below >= self.spans.last_line or {above + 1, below} & self._filled:
            return
        if not self.spans.line_text(below).strip() and self._is_start(above):
            self._removed.add(below)

    def remove_entries(self, others: Sequence[Entry], moved: Sequence[tuple[Entry, Chunk]]) -> None:
        """Removes entries of a map in flow style with their commas, in the order of the map.

        Args:
            others: all entries of the map.
        """
        end, is_first = 0, False
        for entry, chunk in moved:
            if chunk.is_alone:
                self._removed.update(range(chunk.first, chunk.last + 1))
            else:
                end, is_first = self._remove_entry(entry, end, is_first)
        gone = [entry for entry, _ in moved]
        staying = [entry for entry in others if not any(entry is other for other in gone)]
        last = others[-1]
        if staying and last is not staying[-1] and comma_after(self.spans.text, last) is None:
            comma = comma_after(self.spans.text, staying[-1])
            if comma is not None:
                self.replace(comma, comma + 1, "")

    def _remove_entry(self, entry: Entry, previous: int, was_first: bool) -> tuple[int, bool]:
        """Removes an entry that shares its line with other text, and the spaces on one side.

        Args:
            previous: the offset after the entry that was removed before.
            was_first: whether there is no other text before that entry.

        Returns:
            The arguments for the next call.
        """
        text, start, comma = self.spans.text, entry.start, comma_after(self.spans.text, entry)
        while text[start - 1] in " \t" and start > previous:
            start -= 1
        is_first = text[entry.start - 1] == "{" or text[start - 1] in "\r\n" or (was_first and start == previous)
        end = entry.value.end if comma is None else comma + 1
        if is_first:
            start = entry.start
            while text[end] in " \t":
                end += 1
            line = self.spans.line(start)
            if comma is None and text[end] == "}" and self.spans.comment_start(line - 1) is None:
                start = max(previous, len(text[:start].rstrip()))
        self.replace(start, end, "")
        return end, is_first

    def result(self) -> str:
        """Returns the text with all changes.

        Raises:
            UnusualLayoutError: when two changes overlap.
        """
        spans, parts, end = self.spans, [], 0
        lines = [(spans.start_of(line), spans.start_of(line + 1), "") for line in self._removed]
        for start, edit_end, text in sorted([*self._edits, *lines], key=lambda edit: edit[:2]):
            if start < end:
                raise UnusualLayoutError
            parts += [spans.text[end:start], text]
            end = edit_end
        return "".join([*parts, spans.text[end:]])

    def _is_start(self, line: int) -> bool:
        """Returns whether a line is empty or the line of a key above a map."""
        start = self.spans.comment_start(line)
        text = self.spans.text[self.spans.start_of(line) : start] if start else self.spans.line_text(line)
        return not text.strip() or text.rstrip().endswith(":")

"""Moves fields out of nested maps into a map beside the outer map."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpuc.source.relocation.chunks import Line, block_chunk, flow_chunk, last_line, line_at
from gpuc.source.relocation.draft import Draft
from gpuc.source.relocation.place import add, add_in_flow, block_map, flow_map, one_line, step_of
from gpuc.source.relocation.spans import Entry, UnusualLayoutError


def move_out(draft: Draft, parents: Sequence[Entry], name: str, moved: Sequence[tuple[Entry, str]]) -> None:
    """Moves entries of a map into another map of the first parent. Maps that become empty are removed.

    Args:
        parents: the entries from the one whose value gets the new map to the one whose value has the fields.
        name: the key of the new map. The new map follows the second parent, or takes its place.
        moved: the entries and their keys at the new place, in the order of the file.

    Raises:
        UnusualLayoutError: when the layout cannot be kept.
    """
    _MoveOut(draft, parents, name, moved).run()


class _MoveOut:
    def __init__(self, draft: Draft, parents: Sequence[Entry], name: str, moved: Sequence[tuple[Entry, str]]) -> None:
        spans, inner = draft.spans, parents[-1].value
        self.draft = draft
        self.spans = spans
        self.parents = parents
        self.name = name
        self.is_flow = inner.style == "flow map"
        self.rows = [
            (entry, flow_chunk(spans, entry, key) if self.is_flow else block_chunk(spans, entry, key))
            for entry, key in moved
        ]
        self.chunks = [chunk for _, chunk in self.rows]
        self.target = parents[0].value.entry(name)
        self.depth = _depth_of_empty(parents, len(moved))
        """The index of the outermost parent that becomes empty; the number of parents if there is none."""

    def run(self) -> None:
        if self.parents[0].value.style == "flow map":
            self._write_in_flow()
        else:
            self._write()
        if self.depth == len(self.parents):
            self._remove_fields()
        elif self.depth > 1 or self.target or self.parents[0].value.style == "map":
            self._remove_parent()

    def _write(self) -> None:
        """Writes the new map into a map in block style."""
        spans, outer = self.spans, self.parents[1]
        comments = list(self._lost_comments())
        step = step_of(spans, outer if outer.value.style == "map" else self.parents[0])
        if self.target:
            add(self.draft, self.target, self.chunks, step, comments)
            return
        column, last = spans.column(outer.start), last_line(spans, outer)
        lines = one_line(self.name, self.chunks, column, comments) if self.is_flow else None
        if lines is None:
            lines = list(block_map(self.name, self.chunks, column, step, comments))
        has_gap = last + 1 < spans.last_line and not spans.line_text(last + 1).strip()
        if has_gap and self.depth > 1 and last > spans.line(outer.start):
            lines = ["", *lines]
        self.draft.insert(last + 1, lines)

    def _write_in_flow(self) -> None:
        outer = self.parents[1]
        if any(chunk.above or chunk.comment for chunk in self.chunks):
            raise UnusualLayoutError
        if self.target:
            add_in_flow(self.draft, self.target, self.chunks)
        elif self.depth == 1:
            self.draft.replace(outer.start, outer.value.end, flow_map(self.name, self.chunks))
        else:
            self.draft.replace(outer.value.end, outer.value.end, f", {flow_map(self.name, self.chunks)}")

    def _remove_fields(self) -> None:
        if self.is_flow:
            self.draft.remove_entries(self.parents[-1].value.entries, self.rows)
            return
        for chunk in self.chunks:
            self.draft.remove_lines(chunk.first, chunk.last)

    def _remove_parent(self) -> None:
        """Removes the outermost map that becomes empty."""
        parent, outer = self.parents[self.depth], self.parents[self.depth - 1].value
        if outer.style == "map":
            self.draft.remove_lines(self._first_line(), last_line(self.spans, parent))
        else:
            chunk = flow_chunk(self.spans, parent, parent.key)
            self.draft.remove_entries(outer.entries, [(parent, chunk)])

    def _first_line(self) -> int:
        """Returns the first line that is removed with a parent. The new map keeps the comments above the parent."""
        parent = self.parents[self.depth]
        is_replaced = self.depth == 1 and not self.target
        return self.spans.line(parent.start) if is_replaced else block_chunk(self.spans, parent, parent.key).first

    def _lost_comments(self) -> Iterator[Line]:
        """Yields the comments of the maps that become empty, without those of the moved entries."""
        if self.depth == len(self.parents) or self.parents[self.depth - 1].value.style != "map":
            return
        parent, spans = self.parents[self.depth], self.spans
        moved = {line for chunk in self.chunks if chunk.is_alone for line in range(chunk.first, chunk.last + 1)}
        for number in range(self._first_line(), last_line(spans, parent) + 1):
            line = line_at(spans, number)
            if number not in moved and (line.comment or line.content.strip().startswith("#")):
                yield line if line.comment else Line("", line.content.strip())


def _depth_of_empty(parents: Sequence[Entry], moved: int) -> int:
    depth = len(parents)
    while depth > 1 and len(parents[depth - 1].value.entries) == (moved if depth == len(parents) else 1):
        depth -= 1
    return depth

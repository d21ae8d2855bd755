"""Moves fields from one map to another map in the text of a YAML file."""

from collections.abc import Iterator, Sequence

from gpuc.source.moved import Move
from gpuc.source.relocation.layout import Edit, Entry, Layout, UnusualLayoutError

_LINE_LENGTH = 120
"""The longest line with a map in flow style that gpuc writes."""
_STEP = 2
"""The indentation of entries that were in flow style."""


def edits(layout: Layout, group: Sequence[Move]) -> Iterator[Edit]:
    """Yields the changes of the text that move fields of one map to another map. Maps that become empty are removed.

    A field that stays in its map only gets another key. If the changes remove entries from the map around a new map,
    the new map takes the place of the first of these entries. Otherwise, the new map follows the map of the fields.

    Raises:
        UnusualLayoutError: when the layout cannot be kept.
    """
    if group[0].old[:-1] == group[0].new[:-1]:
        for renamed in group:
            entry = layout.path(renamed.old)[-1]
            yield entry.start, entry.key_end, str(renamed.new[-1])
        return
    move = _GroupMove(layout, group)
    yield from move.additions()
    yield from move.removals()


class _GroupMove:
    """The places of fields that move from one map to another."""

    def __init__(self, layout: Layout, group: Sequence[Move]) -> None:
        new = group[0].new[:-1]
        parents = layout.path(group[0].old[:-1])
        self.layout = layout
        self.fields = [layout.path(move.old)[-1] for move in group]
        self.names = [str(move.new[-1]) for move in group]
        self.source = parents[-1]
        """The entry whose value has the fields."""
        self.name = str(new[-1])
        self.holder = parents[len(new) - 2]
        """The entry whose value is the map around the new map."""
        self.target = layout.entry(self.holder.value, self.name)
        self.gone, self.around = self.fields, self.source
        """The entries to remove, and the entry whose value is the map around them."""
        while self.around is not self.holder and len(layout.entries(self.around.value)) == len(self.gone):
            self.gone, self.around = [self.around], parents[parents.index(self.around) - 1]
        self.is_replaced = self.around is self.holder and not self.target
        """Whether the new map takes the place of the first entry to remove."""
        self.beside = self.gone[0] if self.is_replaced or self.target else parents[len(new) - 1]
        """The entry that the new map replaces, or after which the new map is written."""
        self.lost = list(self._lost_comments())
        """The comments of the maps that become empty, and whether a key or value is before the comment."""

    def additions(self) -> Iterator[Edit]:
        """Yields the changes of the text that write the fields at their new paths."""
        flow = self._flow_text()
        if self.target:
            yield from self._added(self.target, flow)
        elif self.holder.is_flow_map:
            text, end = f"{self.name}: {{{flow}}}", self.beside.end
            yield (self.beside.start, end, text) if self.is_replaced else (end, end, f", {text}")
        else:
            start, end = self.layout.lines(self.beside)
            place = start if self.is_replaced else end
            gap = self.layout.line_end if not self.is_replaced and self.layout.is_blank(end) else ""
            yield place, place, gap + self._new_map(flow)

    def removals(self) -> Iterator[Edit]:
        """Yields the changes of the text that remove the fields from their old paths, and maps that become empty."""
        if self.around.is_flow_map:
            yield from self._removed_from_flow()
            return
        ranges: list[tuple[int, int]] = []
        for start, end in map(self.layout.lines, self.gone):
            is_next = bool(ranges) and ranges[-1][1] == start
            ranges.append((ranges.pop()[0] if is_next else start, end))
        for index, (start, end) in enumerate(ranges):
            above = self.layout.line_start(start - 1)
            has_new_map = self.is_replaced and index == 0
            is_between_blanks = not has_new_map and self.layout.is_blank(above) and self.layout.is_blank(end)
            yield above if is_between_blanks else start, end, ""

    def _added(self, target: Entry, flow: str) -> Iterator[Edit]:
        """Yields the edits that write the fields at the end of a map. A line in flow style may get block style."""
        layout, entries = self.layout, self.layout.entries(target.value)
        if not target.is_flow_map:
            if not entries:  # an alias
                raise UnusualLayoutError
            end, column = layout.lines(target)[1], entries[0].column
            yield end, end, self._comment_lines(column) + self._block_text(column)
            return
        opening = layout.text.index("{", target.value.start_mark.index)
        line, next_line = layout.line_start(target.start), layout.next_line(target.start)
        has_more_lines = target.end > next_line
        is_short = has_more_lines or next_line - line + len(flow) <= _LINE_LENGTH
        if flow and is_short and not self.lost:
            end = entries[-1].end if entries else opening + 1
            yield end, end, ", " * bool(entries) + flow
        elif has_more_lines or self.holder.is_flow_map:
            raise UnusualLayoutError
        else:
            column = target.column + _STEP
            present = [" " * column + layout.flow_text(entry, entry.key) + layout.line_end for entry in entries]
            yield len(layout.text[:opening].rstrip()), target.end, ""
            text = "".join(present) + self._comment_lines(column) + self._block_text(column)
            yield next_line, next_line, text

    def _new_map(self, flow: str) -> str:
        """Returns the lines of a new map in a map in block style."""
        column, line_end = self.beside.column, self.layout.line_end
        ends = [comment for comment, is_after in self.lost if is_after]
        if flow and len(ends) <= 1:
            above = [comment for comment, is_after in self.lost if not is_after]
            line = "   ".join([f"{self.name}: {{{flow}}}", *ends])
            if column + len(line) <= _LINE_LENGTH:
                return "".join(" " * column + text + line_end for text in [*above, line])
        step = _STEP if self.source.is_flow_map else self.fields[0].column - self.source.column
        return f"{self._comment_lines(column)}{' ' * column}{self.name}:{line_end}{self._block_text(column + step)}"

    def _removed_from_flow(self) -> Iterator[Edit]:
        """Yields the edits that remove entries of a map in flow style, with the commas before or after them."""
        entries = self.layout.entries(self.around.value)
        gone = {entry.start for entry in self.gone[self.is_replaced :]}
        is_first = True
        for index, entry in enumerate(entries):
            if entry.start not in gone:
                is_first = False
            elif is_first:
                yield entry.start, entries[index + 1].start, ""
            else:
                yield entries[index - 1].end, entry.end, ""

    def _lost_comments(self) -> Iterator[tuple[str, bool]]:
        if self.gone[0] in self.fields or self.around.is_flow_map:
            return
        layout = self.layout
        start, end = layout.lines(self.gone[0])
        kept = [] if self.source.is_flow_map else [layout.lines(field) for field in self.fields]
        for line, place in layout.comment_places.items():
            if start <= line < end and not any(first <= line < last for first, last in kept):
                yield layout.text[place : layout.next_line(place)].rstrip(), bool(layout.text[line:place].strip())

    def _flow_text(self) -> str:
        """Returns the fields as in a map in flow style; an empty text if they are in block style."""
        if not self.source.is_flow_map:
            return ""
        return ", ".join(map(self.layout.flow_text, self.fields, self.names))

    def _block_text(self, column: int) -> str:
        """Returns the lines of the fields with their keys at a column."""
        layout, rows = self.layout, zip(self.fields, self.names, strict=True)
        if self.source.is_flow_map:
            return "".join(" " * column + layout.flow_text(field, name) + layout.line_end for field, name in rows)
        return "".join(layout.block_text(field, name, column) for field, name in rows)

    def _comment_lines(self, column: int) -> str:
        return "".join(" " * column + comment + self.layout.line_end for comment, _ in self.lost)

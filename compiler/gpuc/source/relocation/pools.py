"""Moves fields of node pools below a new key."""

from __future__ import annotations

from collections.abc import Sequence

from gpuc.source.relocation.chunks import LINE_LENGTH, STEP, Chunk, block_chunk, comma_after, flow_chunk
from gpuc.source.relocation.draft import Draft
from gpuc.source.relocation.place import add, add_in_flow, block_map, flow_map, one_line, step_of
from gpuc.source.relocation.spans import Entry, UnusualLayoutError


def move_within(draft: Draft, parent: Entry, name: str, moved: Sequence[tuple[Entry, str]]) -> None:
    """Moves entries of a map into a map below it, which gets the place of the first entry if it does not exist.

    Args:
        parent: the entry whose value is the map.
        name: the key of the map below.
        moved: the entries and their keys at the new place, in the order of the file.

    Raises:
        UnusualLayoutError: when the layout cannot be kept.
    """
    if parent.value.style == "flow map":
        _move_in_flow(draft, parent, name, moved)
        return
    spans = draft.spans
    chunks = [block_chunk(spans, entry, key) for entry, key in moved]
    target = parent.value.entry(name)
    if target:
        add(draft, target, chunks, step_of(spans, parent))
    else:
        short = one_line(name, chunks, chunks[0].column, ()) if len(chunks) == 1 else None
        lines = short or block_map(name, chunks, chunks[0].column, step_of(spans, parent))
        draft.insert(chunks[0].first, lines)
    for chunk in chunks:
        draft.remove_lines(chunk.first, chunk.last)


def _move_in_flow(draft: Draft, parent: Entry, name: str, moved: Sequence[tuple[Entry, str]]) -> None:
    spans, entries = draft.spans, parent.value.entries
    rows = [(entry, flow_chunk(spans, entry, key)) for entry, key in moved]
    chunks = [chunk for _, chunk in rows]
    target = parent.value.entry(name)
    if target:
        if any(chunk.above or chunk.comment for chunk in chunks):
            raise UnusualLayoutError
        add_in_flow(draft, target, chunks)
        draft.remove_entries(entries, rows)
        return
    first, text = moved[0][0], flow_map(name, chunks)
    has_comments = any(chunk.above or any(line.comment for line in chunk.body) for chunk in chunks[1:])
    is_long = len(chunks) > 1 and chunks[0].column + len(text) > LINE_LENGTH
    if (has_comments or is_long) and all(chunk.is_alone for chunk in chunks):
        _write_lines(draft, parent, name, rows)
    elif has_comments:
        raise UnusualLayoutError
    else:
        draft.replace(first.start, first.value.end, text)
        draft.remove_entries(entries, rows[1:])


def _write_lines(draft: Draft, parent: Entry, name: str, rows: Sequence[tuple[Entry, Chunk]]) -> None:
    """Moves entries that have lines of their own in a map in flow style."""
    spans, entries = draft.spans, parent.value.entries
    chunks = [chunk for _, chunk in rows]
    column = chunks[0].column
    opening = spans.line_text(spans.line(parent.value.opening))
    step = column - (len(opening) - len(opening.lstrip()))
    gone = [entry for entry, _ in rows]
    start = next(index for index, entry in enumerate(entries) if entry is gone[0])
    has_comma = comma_after(spans.text, entries[-1]) is not None or any(
        not any(entry is other for other in gone) for entry in entries[start:]
    )
    lines = [f"{' ' * column}{name}: {{"]
    for chunk in chunks:
        lines += chunk.lines(column + (step if step > 0 else STEP), "" if chunk is chunks[-1] else ",")
    draft.insert(chunks[0].first, [*lines, f"{' ' * column}}}" + "," * has_comma])
    staying = [entry for entry in entries if not any(entry is other for other in gone[1:])]
    draft.remove_entries(staying if staying[-1] is gone[0] else entries, rows)

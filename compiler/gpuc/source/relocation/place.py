"""Writes moved entries into a map that exists, or into a new map."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpuc.source.relocation.chunks import LINE_LENGTH, STEP, Chunk, Line, last_line
from gpuc.source.relocation.draft import Draft
from gpuc.source.relocation.spans import Entry, Spans, UnusualLayoutError


def add(draft: Draft, target: Entry, chunks: Sequence[Chunk], step: int, notes: Sequence[Line] = ()) -> None:
    """Adds moved entries at the end of a map.

    Args:
        target: the entry whose value is the map.
        step: the indentation of the entries, if the map changes from flow style to block style.
        notes: comments that go above the moved entries.

    Raises:
        UnusualLayoutError: when the map is in flow style, with several lines, and the entries have comments.
    """
    spans, value = draft.spans, target.value
    if value.style == "map":
        column = spans.column(value.entries[0].start)
        draft.insert(last_line(spans, target) + 1, _lines(chunks, column, notes))
        return
    if value.style != "flow map":
        raise UnusualLayoutError
    line, text = spans.line(target.start), spans.text
    pieces = ", ".join(chunk.piece for chunk in chunks)
    is_line = line == spans.line(value.end)
    is_long = is_line and len(spans.line_text(line)) + len(pieces) + 2 > LINE_LENGTH
    if not notes and all(chunk.is_bare for chunk in chunks) and not is_long:
        add_in_flow(draft, target, chunks)
        return
    column = spans.column(target.start)
    if not is_line or spans.line_text(line)[:column].strip():
        raise UnusualLayoutError
    present = [text[entry.start : entry.value.end] for entry in value.entries]
    draft.replace(len(text[: value.opening].rstrip()), value.end, "")
    draft.insert(line + 1, [" " * (column + step) + piece for piece in present])
    draft.insert(line + 1, _lines(chunks, column + step, notes))


def add_in_flow(draft: Draft, target: Entry, chunks: Sequence[Chunk]) -> None:
    """Adds moved entries without their comments at the end of a map in flow style."""
    entries = target.value.entries
    end = entries[-1].value.end if entries else target.value.opening + 1
    draft.replace(end, end, ", " * bool(entries) + ", ".join(chunk.piece for chunk in chunks))


def flow_map(name: str, chunks: Sequence[Chunk]) -> str:
    """Returns a new entry whose value is a map in flow style."""
    return f"{name}: {{{', '.join(chunk.piece for chunk in chunks)}}}"


def one_line(name: str, chunks: Sequence[Chunk], column: int, comments: Sequence[Line]) -> list[str] | None:
    """Returns the lines of a new entry whose value is a map in flow style.

    Args:
        column: the column of the new key, from 0.
        comments: more comments; those after values are for the end of the line.

    Returns:
        The comments above and one line; None if there is no such line.
    """
    ends = [*(line for line in comments if line.content), *(chunk.comment for chunk in chunks if chunk.comment)]
    text = " " * column + flow_map(name, chunks)
    if not all(chunk.is_one_line for chunk in chunks) or len(ends) > 1:
        return None
    if ends:
        text = ends[0].before_comment(text)
    above = [" " * column + line.comment for line in comments if not line.content]
    above += [line.shifted(column - chunk.column) for chunk in chunks for line in chunk.above]
    return [*above, text] if len(text) <= LINE_LENGTH else None


def block_map(
    name: str, chunks: Sequence[Chunk], column: int, step: int, comments: Sequence[Line] = ()
) -> Iterator[str]:
    """Yields the lines of a new entry whose value is a map in block style.

    Args:
        column: the column of the new key, from 0.
        step: the indentation of the entries.
        comments: more comments. The last comment after a value is for the line of the key, the others for lines above.
    """
    end = next((line for line in reversed(comments) if line.content), None)
    yield from (" " * column + line.comment for line in comments if line is not end)
    text = f"{' ' * column}{name}:"
    yield end.before_comment(text) if end else text
    yield from _lines(chunks, column + step, ())


def _lines(chunks: Sequence[Chunk], column: int, notes: Sequence[Line]) -> Iterator[str]:
    yield from (" " * column + note.comment for note in notes)
    for chunk in chunks:
        yield from chunk.lines(column)


def step_of(spans: Spans, parent: Entry) -> int:
    """Returns the indentation of the entries of a map in block style, compared with the key of the map."""
    if parent.value.style != "map":
        return STEP
    return max(spans.column(parent.value.entries[0].start) - spans.column(parent.start), 1)

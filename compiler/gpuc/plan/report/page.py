"""A page of text with a limited size: what is named first, and what is left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpuc.plan.impact import Impact


@dataclass(frozen=True, slots=True)
class Block:
    """Lines of a page that are shown together."""

    text: str
    rank: int
    """Blocks with a smaller number get room first. The order on the page is another one."""
    short: str | None = None
    """The lines if the text has no room, not longer than the text; None if the block is left out then."""
    impacts: tuple[Impact, ...] = ()
    """The impacts that the block describes."""


def fixed(text: str, rank: int) -> Block:
    """Returns a block that has no shorter form."""
    return Block(text, rank, text)


def fitted(blocks: Sequence[Block], limit: int) -> list[str | None]:
    """Returns what the page shows of each block: the text, the short form, or None.

    First the short forms get room, up to the first one that has none. The rest of the room is for texts.

    Args:
        blocks: the blocks in the order of the page.
        limit: the size of the page in bytes.
    """
    shown: list[str | None] = [None] * len(blocks)
    order = sorted(range(len(blocks)), key=lambda index: blocks[index].rank)
    room = limit
    for index in order:
        short = blocks[index].short
        if short is None:
            continue
        if _size(short) > room:
            break
        shown[index] = short
        room -= _size(short)
    for index in order:
        block = blocks[index]
        more = _size(block.text) - _size(shown[index])
        if (block.short is None or shown[index] is not None) and more <= room:
            shown[index] = block.text
            room -= more
    return shown


def _size(text: str | None) -> int:
    return 0 if text is None else len(text.encode()) + 1  # the line break after the block

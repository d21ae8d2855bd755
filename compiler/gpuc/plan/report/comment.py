"""Prints the plan as a comment on a pull request.

The comment begins with the impacts, about which a reviewer decides. The changed objects follow in folded sections.
"""

from collections.abc import Iterator, Sequence

from gpuc.diagnostics.report.document import Block, Heading
from gpuc.diagnostics.report.markdown import page
from gpuc.diagnostics.words import first_names
from gpuc.plan.planner import Plans
from gpuc.plan.report.parts import Part, compared, parts
from gpuc.plan.report.words import counted_levels

MARKER = "<!-- gpuc plan -->"
"""The first line, by which a workflow finds its comment."""
LIMIT_BYTES = 60_000
"""The maximum size below the first lines. GitHub refuses a comment with more than 65,536 characters."""


def render(plans: Plans) -> str:
    """Returns the comment. If the comment is too long, gpuc shortens impacts before it leaves impacts out."""
    names = [plan.name for plan in plans.changed if plan.name]
    title = (f"Plan for {first_names(names, 5)}" if names else "Plan") if plans.changed else "No cluster changes"
    found = list(parts(plans))
    shown = fitted(found, LIMIT_BYTES)
    head = [Heading(title), compared(plans)]
    blocks = [block for part_blocks in shown for block in part_blocks or ()]
    return f"{MARKER}\n{page([*head, *_missing(found, shown), *blocks])}"


def fitted(found: Sequence[Part], limit: int) -> list[Sequence[Block] | None]:
    """Returns what the comment shows of each part of the report: all blocks, the short form, or None to leave it out.

    The function first uses the space for short forms, in the order of `rank` of the parts. It stops at the first
    short form that does not fit. Then it replaces short forms by complete parts, as long as the space is enough.

    Args:
        found: the parts in the order of the comment.
        limit: the maximum size of the comment in bytes.
    """
    shown: list[Sequence[Block] | None] = [None] * len(found)
    order = sorted(range(len(found)), key=lambda position: found[position].rank)
    room = limit
    for position in order:
        short = found[position].short
        if short is None:
            continue
        if _size(short) > room:
            break
        shown[position] = short
        room -= _size(short)
    for position in order:
        part = found[position]
        more = _size(part.blocks) - _size(shown[position])
        if (part.short is None or shown[position] is not None) and more <= room:
            shown[position] = part.blocks
            room -= more
    return shown


def _size(blocks: Sequence[Block] | None) -> int:
    return 0 if blocks is None else len(page(blocks).encode()) + 1  # the empty line after the blocks


def _missing(found: Sequence[Part], shown: Sequence[Sequence[Block] | None]) -> Iterator[Block]:
    """Yields a paragraph about the parts that do not fit on the page; nothing if all parts fit."""
    cut = [(part, blocks) for part, blocks in zip(found, shown, strict=True) if blocks is not part.blocks]
    if not cut:
        return
    hidden = [impact for part, blocks in cut if blocks is None for impact in part.impacts]
    short = sum(len(part.impacts) for part, blocks in cut if blocks is not None)
    others = sum(not part.impacts for part, _ in cut)
    sentences = [
        "The comment is full, and the log of the CI job has the complete plan.",
        f"Impacts that the comment does not show: {counted_levels(hidden)}." if hidden else "",
        f"Impacts that it shortens: {short}." if short else "",
        f"Other paragraphs that it does not show: {others}." if others else "",
    ]
    yield " ".join(filter(None, sentences))

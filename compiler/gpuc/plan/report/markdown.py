"""The plan as Markdown for a comment on a pull request: first what a reviewer decides, then the objects, folded.

Texts of specs and manifests are untrusted: they have no effect on GitHub, and look as they are written.

Sources: https://docs.github.com/en/get-started/writing-on-github (pages "Basic writing and formatting syntax" and
"Autolinked references and URLs"), and cmark-gfm extensions/autolink.c.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from gpuc.diagnostics.report.terminal import visible
from gpuc.diagnostics.words import first_names
from gpuc.plan.impact import Impact, Level
from gpuc.plan.object_changes import CauseGroup, ChangedField, groups_by_cause
from gpuc.plan.planner import ClusterPlan, Plans, objects_change
from gpuc.plan.report.words import (
    cause_text,
    change_lines,
    change_word,
    counted_impacts,
    counted_levels,
    cut,
    group_place,
    more_fields,
    same_fields,
    same_objects,
)


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


_BLOCK = re.compile(r"^(\d*)(?=[>+.)-])")
"""The start of a text that Markdown reads as a quote or an item of a list."""
_MARKDOWN = re.compile(r"[\\`*\[\]|~$#]|(?<![^\W_])_|_(?![^\W_])")
"""The signs that Markdown reads inside of a line."""
_JOINT = re.compile(
    r"@(?=\w)"  # mentions, mail addresses, and commits of other repositories
    r"|#(?=\d)|(?i:gh)-(?=\d)"  # references to issues
    r"|:(?=//)|www(?=\.)"  # addresses
    r"|(?<![\w:]):(?=[\w+-]+:)",  # emoji, but nothing in the middle of an ARN or a time, which people copy
    re.ASCII,  # for GitHub, a letter with an accent is no part of a name
)
_BREAK = "\u200b"
"""A character without width. Between two characters, it ends what GitHub would make of them."""


def escaped(text: str) -> str:
    """Returns a text that Markdown shows as it is, in one line, without mentions, references, links and emoji."""
    line = _one_line(text).replace("&", "&amp;").replace("<", "&lt;")
    line = _MARKDOWN.sub(r"\\\g<0>", line)
    line = _BLOCK.sub(r"\1\\", line)
    return _JOINT.sub(rf"\g<0>{_BREAK}", line)


def code(text: str) -> str:
    """Returns a text as inline code, in one line."""
    line = _one_line(text)
    ticks = "`" * (max((len(run) for run in re.findall("`+", line)), default=0) + 1)
    space = " " if line.startswith("`") or line.endswith("`") or not line else ""
    return f"{ticks}{space}{line}{space}{ticks}"


def fenced(lines: list[str], language: str = "diff") -> str:
    """Returns lines as a code block that the lines cannot end."""
    longest = max((len(run) for line in lines for run in re.findall("`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    return "\n".join([f"{fence}{language}", *map(visible, lines), fence])


def html_code(text: str) -> str:
    """Returns a text as an HTML element with code, in one line. GitHub makes no mentions of names in code."""
    return f"<code>{html.escape(_one_line(text)).replace('`', '&#96;')}</code>"


def _one_line(text: str) -> str:
    """Returns the text in one line, with escapes for control characters, also those that change the direction."""
    return visible(" ".join(text.split()))


MARKER = "<!-- gpuc plan -->"
"""The first line, by which a workflow finds its comment."""
LIMIT_BYTES = 60_000
"""The maximum size below the first lines. GitHub refuses a comment with more than 65,536 characters."""
_FIELDS = 12
_TITLES = {
    Level.DESTROYS: "Destroys: data, running work or capacity is lost",
    Level.DISRUPTS: "Disrupts: nodes are replaced, work is evicted, or admission stops",
    Level.RESTRICTS: "Restricts: something that was possible is refused or waits longer",
    Level.COSTS: "Costs",
    Level.NONE: "Disturbs nothing that runs",
}
_STRUCTURE, _REMARKS, _OBJECTS = -1, len(Level), len(Level) + 1
"""The ranks of blocks. The rank of an impact is the position of its level."""
_SHORT = 200
"""The maximum number of characters of a message in the short form of an impact."""
_SENTENCE = 1_000
"""The maximum number of characters of a sentence of the summary."""


def render(plans: Plans) -> str:
    """Returns the comment. If not all has room, each impact is named before the first one has its details."""
    changed = plans.changed
    blocks = [block for plan in changed for block in (*_impacts(plan), *_remarks(plan))]
    blocks += [block for plan in changed for block in _objects(plan)]
    shown = fitted(blocks, LIMIT_BYTES)
    head = [f"{MARKER}\n## {_title(changed)}\n"]
    head.append(f"Compared with {code(plans.before)}: {counted_impacts(impact for _, impact in plans.impacts())}.\n")
    head += _missing(blocks, shown)
    return "\n".join([*head, *(text for text in shown if text is not None)]).rstrip("\n") + "\n"


def _missing(blocks: Sequence[Block], shown: Sequence[str | None]) -> Iterator[str]:
    """Yields a paragraph about what has no room; nothing if all is shown."""
    parts = [(block, text) for block, text in zip(blocks, shown, strict=True) if text != block.text]
    if not parts:
        return
    hidden = [impact for block, text in parts if text is None for impact in block.impacts]
    short = sum(len(block.impacts) for block, text in parts if text is not None)
    others = sum(not block.impacts for block, _ in parts)
    sentences = [
        "The comment is full, and the log of the CI job has the complete plan.",
        f"Impacts that the comment does not show: {counted_levels(hidden)}." if hidden else "",
        f"Impacts that it shortens: {short}." if short else "",
        f"Other paragraphs that it does not show: {others}." if others else "",
    ]
    yield " ".join(filter(None, sentences)) + "\n"


def _title(changed: Sequence[ClusterPlan]) -> str:
    names = [plan.name for plan in changed if plan.name]
    if not changed:
        return "No cluster changes"
    return f"Plan for {escaped(first_names(names, 5))}" if names else "Plan"


def _impacts(plan: ClusterPlan) -> Iterator[Block]:
    name = f"### {escaped(plan.name)}\n" if plan.name else ""
    sentences = [f"- {escaped(cut(sentence, _SENTENCE))}" for sentence in plan.summary]
    yield Block("\n".join([*([name] if name else []), *sentences, ""]), _STRUCTURE, name)
    for level in Level:
        if impacts := tuple(impact for impact in plan.impacts if impact.level is level):
            yield from _level(level, impacts)


def _level(level: Level, impacts: tuple[Impact, ...]) -> Iterator[Block]:
    if level is Level.NONE:
        yield Block(_fold(level, map(_impact, impacts)), level.rank, _fold(level, map(_short, impacts)), impacts)
        return
    yield fixed(f"**{_TITLES[level]}**\n", level.rank)
    for impact in impacts:
        yield Block(_impact(impact), level.rank, _short(impact), (impact,))
    yield fixed("", _STRUCTURE)


def _fold(level: Level, items: Iterable[str]) -> str:
    rows = list(items)
    return "\n".join([f"<details><summary>{_TITLES[level]} ({len(rows)})</summary>\n", *rows, "</details>\n"])


def _impact(impact: Impact) -> str:
    lines = [_item(impact, impact.message)]
    if impact.accepted:
        lines.append(f"  - accepted: {escaped(impact.accepted)}")
    if len(impact.details) == 1:
        lines.append(f"  - {escaped(impact.details[0])}")
    elif impact.details:
        rows = "\n".join(f"    - {escaped(detail)}" for detail in impact.details)
        lines.append(f"  - <details><summary>details</summary>\n\n{rows}\n\n    </details>")
    return "\n".join(lines)


def _short(impact: Impact) -> str:
    return _item(impact, cut(impact.message, _SHORT)) + ("\n  - accepted" if impact.accepted else "")


def _item(impact: Impact, message: str) -> str:
    where = ""
    if impact.mark is not None:
        where = code(f"{impact.mark.file}:{impact.mark.line}") + (" before the change" if impact.is_before else "")
    return f"- **{escaped(impact.subject)}**: {escaped(message)} ({', '.join(filter(None, (where, impact.id)))})"


def _remarks(plan: ClusterPlan) -> Iterator[Block]:
    for finding in plan.findings:
        where = f"{code(f'{finding.mark.file}:{finding.mark.line}')} " if finding.mark else ""
        text = f"- {where}{finding.id}: {escaped(finding.message)}; fix: {escaped(finding.fix)}\n"
        yield fixed(text, _REMARKS)
    for note in plan.notes:
        yield fixed(f"- note: {escaped(note)}\n", _REMARKS)


def _objects(plan: ClusterPlan) -> Iterator[Block]:
    groups = groups_by_cause(plan.change, plan.objects)
    if not groups:
        return
    title = objects_change(len(plan.objects)) + (f" in {plan.name}" if plan.name else "")
    yield Block(f"**{escaped(title)}**, by the line of the spec:\n", _OBJECTS)
    for group in groups:
        summary = html_code(f"{group_place(group)} {cause_text(group)}")
        text = f"<details><summary>{summary}</summary>\n\n{fenced(list(_rows(group)))}\n</details>\n"
        yield Block(text, _OBJECTS)


def _rows(group: CauseGroup) -> Iterator[str]:
    for pairs, fields in same_fields(group):
        pair = pairs[0]
        sign = "+" if pair.is_added else "-" if pair.is_removed else " "
        verb = "are" if len(pairs) > 1 else "is"
        yield f"{sign} {same_objects(pairs)}" + ("" if pair.is_changed else f" {verb} {change_word(pair)}")
        for field in fields[:_FIELDS] if pair.is_changed else ():
            yield from _field(field)
        if pair.is_changed and len(fields) > _FIELDS:
            yield f"    {more_fields(len(fields) - _FIELDS)}"


def _field(changed: ChangedField) -> Iterator[str]:
    first, *others = change_lines(changed.field.before, changed.field.after)
    yield f"    {changed.place}: {first}"
    for line in others:
        sign, text = (line[0], line[1:]) if line.startswith(("+", "-")) else (" ", line)
        yield f"{sign}      {text}"

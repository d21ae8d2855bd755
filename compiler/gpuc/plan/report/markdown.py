"""The plan as Markdown for a comment on a pull request: first what a reviewer decides about, then the objects, folded.

Specs are untrusted: their text cannot mention people, add links, images or HTML, or end a code block.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from gpuc.plan.impact import Impact, Level
from gpuc.plan.object_changes import CauseGroup, ChangedField, groups_by_cause
from gpuc.plan.planner import ClusterPlan
from gpuc.plan.plans import Plans
from gpuc.plan.report.values import change_lines
from gpuc.plan.report.words import cause_text, change_word, counted_impacts, group_place, same_fields

MARKER = "<!-- gpuc plan -->"
"""The first line, by which a workflow finds its comment."""
LIMIT_BYTES = 60_000
"""The maximum size. GitHub refuses a comment with more than 65,536 characters."""
_FIELDS = 12
_TITLES = {
    Level.DESTROYS: "Destroys: data, running work or capacity is lost",
    Level.DISRUPTS: "Disrupts: nodes are replaced, work is evicted, or admission stops",
    Level.RESTRICTS: "Restricts: something that was possible is refused or waits longer",
    Level.COSTS: "Costs",
    Level.NONE: "Disturbs nothing that runs",
}
_MARKDOWN = re.compile(r"([\\`*\[\]|~$]|(?<!\w)_|_(?!\w))")
"""The signs that Markdown reads inside of a line. A text never starts a line."""
_MENTION = re.compile(r"(?<!\w)@(?=\w)")
_REFERENCE = re.compile(r"#(?=\d)")
_PROTOCOL = re.compile(r"\w:(?=//)")
_HOST = re.compile(r"(?i)\bwww(?=\.)")
_BREAK = "\u200b"
"""A character without width, which separates @ from a name and a protocol from an address."""


@dataclass
class _Page:
    """The text of the comment, up to the limit."""

    blocks: list[str] = field(default_factory=list)
    size: int = 0
    left_out: int = 0

    def add(self, block: str) -> None:
        """Adds a block if the page has room for the block."""
        size = len(block.encode()) + 1
        if self.left_out or self.size + size > LIMIT_BYTES:
            self.left_out += 1
            return
        self.blocks.append(block)
        self.size += size


def render(plans: Plans) -> str:
    """Returns the comment. The most important lines come first, so that the limit cuts off the least important."""
    page = _Page()
    page.add(f"{MARKER}\n## {_title(plans)}\n")
    page.add(f"Compared with {code(plans.before)}: {counted_impacts(one for _, one in plans.impacts())}.\n")
    for plan in plans.changed:
        page.add(_head(plan))
        for level in Level:
            for block in _level(plan, level):
                page.add(block)
        for block in _remarks(plan):
            page.add(block)
    for plan in plans.changed:
        for block in _objects(plan):
            page.add(block)
    text = "\n".join(page.blocks)
    if page.left_out:
        text += f"\n\nThe comment is full: {page.left_out} more paragraphs are in the complete plan of the CI job.\n"
    return text.rstrip("\n") + "\n"


def escaped(text: str) -> str:
    """Returns a text that Markdown shows as it is, in one line, without mentions, references and links."""
    plain = " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;")
    line = _MARKDOWN.sub(r"\\\1", plain)
    for pattern in (_MENTION, _REFERENCE, _PROTOCOL, _HOST):
        line = pattern.sub(rf"\g<0>{_BREAK}", line)
    return line


def code(text: str) -> str:
    """Returns a text as inline code, in one line."""
    line = " ".join(text.split())
    ticks = "`" * (max((len(run) for run in re.findall("`+", line)), default=0) + 1)
    space = " " if line.startswith("`") or line.endswith("`") or not line else ""
    return f"{ticks}{space}{line}{space}{ticks}"


def fenced(lines: list[str], language: str = "diff") -> str:
    """Returns lines as a code block that the lines cannot end."""
    longest = max((len(run) for line in lines for run in re.findall("`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    return "\n".join([f"{fence}{language}", *(line.replace("\r", "") for line in lines), fence])


def _title(plans: Plans) -> str:
    names = [plan.name for plan in plans.changed if plan.name]
    if not plans.changed:
        return "No cluster changes"
    shown = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
    return f"Plan for {escaped(shown)}" if names else "Plan"


def _head(plan: ClusterPlan) -> str:
    lines = [f"### {escaped(plan.name)}", ""] if plan.name else []
    lines += [f"- {escaped(sentence)}" for sentence in plan.summary]
    return "\n".join([*lines, ""])


def _level(plan: ClusterPlan, level: Level) -> Iterator[str]:
    impacts = [one for one in plan.impacts if one.level is level]
    if not impacts:
        return
    if level is Level.NONE:
        rows = "\n".join(_impact(one) for one in impacts)
        yield f"<details><summary>{_TITLES[level]} ({len(impacts)})</summary>\n\n{rows}\n</details>\n"
        return
    yield f"**{_TITLES[level]}**\n"
    yield from (_impact(one) for one in impacts)
    yield ""


def _impact(one: Impact) -> str:
    where = ""
    if one.mark is not None:
        where = code(f"{one.mark.file}:{one.mark.line}") + (" before the change" if one.is_before else "")
    lines = [f"- **{escaped(one.subject)}**: {escaped(one.message)} ({', '.join(filter(None, (where, one.id)))})"]
    if one.accepted:
        lines.append(f"  - accepted: {escaped(one.accepted)}")
    if len(one.details) == 1:
        lines.append(f"  - {escaped(one.details[0])}")
    elif one.details:
        rows = "\n".join(f"    - {escaped(detail)}" for detail in one.details)
        lines.append(f"  - <details><summary>details</summary>\n\n{rows}\n\n    </details>")
    return "\n".join(lines)


def _remarks(plan: ClusterPlan) -> Iterator[str]:
    for finding in plan.findings:
        where = f"{code(f'{finding.mark.file}:{finding.mark.line}')} " if finding.mark else ""
        yield f"- {where}{finding.id}: {escaped(finding.message)}; fix: {escaped(finding.fix)}\n"
    for note in plan.notes:
        yield f"- note: {escaped(note)}\n"


def _objects(plan: ClusterPlan) -> Iterator[str]:
    groups = groups_by_cause(plan.change, plan.objects)
    if not groups:
        return
    noun = "object changes" if len(plan.objects) == 1 else "objects change"
    title = f"{len(plan.objects)} {noun}" + (f" in {plan.name}" if plan.name else "")
    yield f"**{escaped(title)}**, by the line of the spec:\n"
    for group in groups:
        summary = _html(f"{group_place(group)} {cause_text(group)}")
        yield f"<details><summary>{summary}</summary>\n\n{fenced(list(_rows(group)))}\n</details>\n"


def _rows(group: CauseGroup) -> Iterator[str]:
    for pairs, fields in same_fields(group):
        pair = pairs[0]
        sign = "+" if pair.is_added else "-" if pair.is_removed else " "
        same = " with the same change" if pair.is_changed else ""
        more = f" and {len(pairs) - 1} more{same}" if len(pairs) > 1 else ""
        verb = "are" if len(pairs) > 1 else "is"
        yield f"{sign} {pair.manifest}{more}" + ("" if pair.is_changed else f" {verb} {change_word(pair)}")
        for one in fields[:_FIELDS] if pair.is_changed else ():
            yield from _field(one)
        if pair.is_changed and len(fields) > _FIELDS:
            yield f"     and {len(fields) - _FIELDS} more fields"


def _field(one: ChangedField) -> Iterator[str]:
    first, *others = change_lines(one.field.before, one.field.after)
    yield f"    {one.place}: {first}"
    yield from (f"{line[:1] if line[:1] in '+-' else ' '}      {line.lstrip('+-')}" for line in others)


def _html(text: str) -> str:
    """Returns a text as an HTML element with code, in one line. GitHub makes no mentions of names in code."""
    line = " ".join(text.split())
    return f"<code>{html.escape(line).replace('`', '&#96;')}</code>"

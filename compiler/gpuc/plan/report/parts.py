"""The plan as a document: the summary of each cluster, its impacts by level, and the objects by line of the spec."""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from gpuc.diagnostics.report.document import Block, Code, Fold, Heading, Item, Line, Span, strong
from gpuc.plan.impact import Impact, Level
from gpuc.plan.object_changes import CauseGroup, ChangedField, groups_by_cause
from gpuc.plan.planner import ClusterPlan, Plans, objects_change
from gpuc.plan.report.words import (
    cause_text,
    change_lines,
    change_word,
    counted_impacts,
    cut,
    group_place,
    more_fields,
    same_fields,
    same_objects,
)

_FIELDS = 12
"""The maximum number of fields of an object; the JSON report has all fields."""
_TITLES = {
    Level.DESTROYS: Span("Destroys: data, running work or capacity is lost", "1;31", "**"),
    Level.DISRUPTS: Span("Disrupts: nodes are replaced, work is evicted, or admission stops", "1;33", "**"),
    Level.RESTRICTS: Span("Restricts: something that was possible is refused or waits longer", "1;35", "**"),
    Level.COSTS: Span("Costs", "1;36", "**"),
}
_NOTHING = "Disturbs nothing that runs"
_STRUCTURE, _REMARKS, _OBJECTS = -1, len(Level), len(Level) + 1
"""The ranks of parts. The rank of an impact is the position of its level."""
_SHORT = 200
"""The maximum number of characters of a message in the short form of an impact."""
_SENTENCE = 1_000
"""The maximum number of characters of a sentence of the summary."""


class Part(Struct, frozen=True):
    """A part of a report: blocks, for example a heading and a list, that are shown, shortened or left out together."""

    blocks: Sequence[Block]
    rank: int
    """Parts with a smaller number get room first. The order on the page is another one."""
    short: Sequence[Block] | None = None
    """The blocks if the others have no room, not longer than the others; None if the part is left out then."""
    impacts: tuple[Impact, ...] = ()
    """The impacts that the part describes."""


def fixed(rank: int, *blocks: Block) -> Part:
    """Returns a part that is never shortened: all its blocks are also its short form."""
    return Part(blocks, rank, blocks)


def text_blocks(plans: Plans) -> Iterator[Block]:
    """Yields the text report: the plans, the names of clusters that do not change, and what the plan compares."""
    yield from (block for part in parts(plans) for block in part.blocks)
    unchanged = [plan.name for plan in plans.clusters if plan not in plans.changed]
    if plans.changed:
        yield ""
    if unchanged:
        yield f"no change: {', '.join(filter(None, unchanged)) or 'the objects are equal'}"
    yield compared(plans)


def compared(plans: Plans) -> Line:
    """Returns the sentence "Compared with STATE: 3 impacts", where STATE is the commit or folder before the change."""
    counts = counted_impacts(impact for _, impact in plans.impacts())
    return "Compared with ", Span(plans.before, markup="`"), f": {counts}."


def parts(plans: Plans) -> Iterator[Part]:
    """Yields the parts of the report for all clusters that change: first their impacts, then their changed objects."""
    for plan in plans.changed:
        head = [Heading(plan.name, 3)] if plan.name else []
        sentences = [Item(cut(sentence, _SENTENCE)) for sentence in plan.summary]
        yield Part([*head, *sentences], _STRUCTURE, head)
        for level in Level:
            if impacts := tuple(impact for impact in plan.impacts if impact.level is level):
                yield from _level(level, impacts)
        yield from _remarks(plan)
    for plan in plans.changed:
        yield from _objects(plan)


def _level(level: Level, impacts: tuple[Impact, ...]) -> Iterator[Part]:
    if level is Level.NONE:
        title = f"{_NOTHING} ({len(impacts)})"
        folds = [("", Fold(title, [item(impact, "") for impact in impacts])) for item in (_impact, _short)]
        yield Part(folds[0], level.rank, folds[1], impacts)
        return
    yield fixed(level.rank, "", _TITLES[level])
    for impact in impacts:
        yield Part([_impact(impact)], level.rank, [_short(impact)], (impact,))


def _impact(impact: Impact, lead: str = "  ") -> Item:
    accepted = [f"accepted: {impact.accepted}"] if impact.accepted else []
    return _item(impact, impact.message, accepted, impact.details, lead)


def _short(impact: Impact, lead: str = "  ") -> Item:
    return _item(impact, cut(impact.message, _SHORT), ["accepted"] if impact.accepted else [], (), lead)


def _item(impact: Impact, message: str, notes: Sequence[Line], details: Sequence[Line], lead: str) -> Item:
    before = (" before the change",) if impact.is_before else ()
    where = (impact.mark, *before) if impact.mark else ""
    return Item((strong(impact.subject, ""), f": {message}"), impact.id, where, notes, details, lead)


def _remarks(plan: ClusterPlan) -> Iterator[Part]:
    for finding in plan.findings:
        yield fixed(_REMARKS, "", Item(finding.message, finding.id, finding.mark or "", (f"fix: {finding.fix}",)))
    for note in plan.notes:
        yield fixed(_REMARKS, "", Item(f"note: {note}"))


def _objects(plan: ClusterPlan) -> Iterator[Part]:
    groups = groups_by_cause(plan.change, plan.objects)
    if not groups:
        return
    title = objects_change(len(plan.objects)) + (f" in {plan.name}" if plan.name else "")
    yield Part(["", (strong(title), ", by the line of the spec:")], _OBJECTS)
    for group in groups:
        summary = Span(f"{group_place(group)} {cause_text(group)}".strip(), "2", "`")
        yield Part([Fold(summary, [Code(list(_rows(group)), "diff")])], _OBJECTS)


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

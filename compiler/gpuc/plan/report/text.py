"""The plan as text: the summary, the impacts by level, and the objects by the value of the spec that changes them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from gpuc.diagnostics.place import place
from gpuc.diagnostics.report.terminal import PLAIN, Paint, Style, visible, wrapped
from gpuc.plan.impact import Impact, Level
from gpuc.plan.object_changes import CauseGroup, ChangedField, groups_by_cause
from gpuc.plan.planner import ClusterPlan
from gpuc.plan.plans import Plans
from gpuc.plan.report.values import change_lines
from gpuc.plan.report.words import (
    cause_text,
    change_word,
    counted_impacts,
    group_place,
    more_fields,
    same_fields,
    same_objects,
)

_COLOURS = {Level.DESTROYS: "1;31", Level.DISRUPTS: "1;33", Level.RESTRICTS: "1;35", Level.COSTS: "1;36"}
_FIELDS = 8
"""The maximum number of fields of an object; the JSON report has all fields."""


def render(plans: Plans, style: Style = PLAIN) -> str:
    """Returns the report as text. Control characters from specs and manifests are escaped."""
    paint = Paint(style.colour)
    changed = plans.changed
    lines = [line for plan in changed for line in (*_cluster(plan, paint, style.width), "")]
    unchanged = [plan.name for plan in plans.clusters if plan not in changed]
    if unchanged:
        lines.append(f"no change: {', '.join(filter(None, unchanged)) or 'the objects are equal'}")
    lines.append(f"compared with {visible(plans.before)}: {counted_impacts(impact for _, impact in plans.impacts())}")
    return "".join(f"{line}\n" for line in lines)


def _cluster(plan: ClusterPlan, paint: Paint, width: int | None) -> Iterator[str]:
    yield paint("1", visible(plan.name)) if plan.name else paint("1", "objects")
    for sentence in plan.summary:
        yield f"  {wrapped(visible(sentence), width, first=2, indent=4)}"
    for level in Level:
        impacts = [impact for impact in plan.impacts if impact.level is level]
        if impacts:
            yield ""
            yield paint(_COLOURS.get(level, "1"), level.value)
        for impact in impacts:
            yield from _impact(impact, paint, width)
    for finding in plan.findings:
        yield ""
        yield visible(f"{finding.mark}  {finding.severity.value} {finding.id}  {finding.message}")
        yield visible(f"    fix: {finding.fix}")
    for note in plan.notes:
        yield ""
        yield visible(f"note: {note}")
    yield from _objects(plan, paint)


def _impact(impact: Impact, paint: Paint, width: int | None) -> Iterator[str]:
    where = f"{impact.mark}{' (before)' if impact.is_before else ''}" if impact.mark else place(impact.path) or "-"
    text = wrapped(visible(f"{impact.subject}: {impact.message}"), width, first=10, indent=10)
    yield f"  {impact.id}  {text}"
    yield f"          {paint('2', visible(where))}"
    for detail in impact.details:
        yield f"          {wrapped(visible(detail), width, first=10, indent=12)}"
    if impact.accepted:
        yield f"          accepted: {visible(impact.accepted)}"


def _objects(plan: ClusterPlan, paint: Paint) -> Iterator[str]:
    if not plan.objects:
        return
    count = Counter(change_word(pair) for pair in plan.objects)
    yield ""
    parts = ", ".join(f"{count[word]} {word}" for word in ("added", "changed", "removed") if count[word])
    yield paint("1", f"objects: {parts}")
    for group in groups_by_cause(plan.change, plan.objects):
        yield from _group(group, paint)


def _group(group: CauseGroup, paint: Paint) -> Iterator[str]:
    yield f"  {paint('2', visible(group_place(group)))}  {visible(cause_text(group))}".rstrip()
    for pairs, fields in same_fields(group):
        yield f"    {change_word(pairs[0])} {visible(same_objects(pairs))}"
        if pairs[0].is_changed:
            yield from _fields(fields)


def _fields(fields: tuple[ChangedField, ...]) -> Iterator[str]:
    for changed in fields[:_FIELDS]:
        first, *others = change_lines(changed.field.before, changed.field.after)
        yield f"      {visible(changed.place)}: {visible(first)}"
        yield from (f"        {visible(line)}" for line in others)
    if len(fields) > _FIELDS:
        yield f"      {more_fields(len(fields) - _FIELDS)}"

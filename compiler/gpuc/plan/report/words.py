"""Texts for the text report and the Markdown report: changed values, counts, files and lines."""

import difflib
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import takewhile
from typing import Any

from gpuc.diagnostics.place import place
from gpuc.diagnostics.words import counted
from gpuc.plan.change import Pair
from gpuc.plan.differences import MISSING
from gpuc.plan.impact import Impact, Level
from gpuc.plan.object_changes import CauseGroup, ChangedField

LINES = 12
"""The maximum number of changed lines of a text."""
LENGTH = 160
"""The maximum number of characters of a value."""
CONTEXT = 20
"""The number of characters before the first difference of long texts that begin in the same way."""


def change_lines(before: Any, after: Any) -> list[str]:
    """Returns the lines that show a changed value, for example ["16 -> 20"].

    If the value is a text of several lines, the changed lines follow with + or - at the beginning.
    """
    if isinstance(before, str) and isinstance(after, str) and "\n" in before + after:
        return _line_changes(before, after)
    if isinstance(before, list) and isinstance(after, list):
        return [_list_change(before, after)]
    if before is MISSING:
        return [f"new: {value_text(after)}"]
    if after is MISSING:
        return [f"removed: {value_text(before)}"]
    first, second = value_text(before), value_text(after)
    if first == second and isinstance(before, str) and isinstance(after, str):
        equal = sum(1 for _ in takewhile(lambda signs: signs[0] == signs[1], zip(before, after, strict=False)))
        start = equal - CONTEXT
        first, second = (f"... {cut(text[start:], LENGTH)}" for text in (before, after))
    return [f"{first} -> {second}"]


def value_text(value: Any) -> str:
    """Returns a value in one line, shortened if it is long."""
    text = value if isinstance(value, str) and value and "\n" not in value else json.dumps(value, ensure_ascii=False)
    return cut(text, LENGTH)


def cut(text: str, length: int) -> str:
    """Returns a text with at most `length` characters. A longer text is cut and ends with " ..."."""
    return text if len(text) <= length else f"{text[: length - 4]} ..."


def _list_change(before: list[Any], after: list[Any]) -> str:
    removed = [value_text(item) for item in before if item not in after]
    added = [value_text(item) for item in after if item not in before]
    if not removed and not added:
        return f"the order changes: {value_text(before)} -> {value_text(after)}"
    parts = ["added " + ", ".join(added)] if added else []
    parts += ["removed " + ", ".join(removed)] if removed else []
    return cut("; ".join(parts), 2 * LENGTH)


def _line_changes(before: str, after: str) -> list[str]:
    rows = list(difflib.unified_diff(before.splitlines(), after.splitlines(), n=0, lineterm=""))[2:]
    changed = [cut(row, LENGTH) for row in rows if not row.startswith("@@")]
    if not changed:
        return ["only line breaks change"]
    rest = len(changed) - LINES
    more = [f"and {counted(rest, 'more line')}"] if rest > 0 else []
    return ["the text changes", *changed[:LINES], *more]


def change_word(pair: Pair) -> str:
    """Returns "added", "removed" or "changed"."""
    return "added" if pair.is_added else "removed" if pair.is_removed else "changed"


def counted_impacts(impacts: Iterable[Impact]) -> str:
    """Returns the number of impacts by level, for example "3 impacts: 1 destroys, 2 costs"."""
    found = list(impacts)
    if not found:
        return "no impacts"
    accepted = sum(bool(impact.accepted) for impact in found)
    levels = counted_levels(found)
    return f"{counted(len(found), 'impact')}: {levels}" + (f"; {accepted} accepted" if accepted else "")


def counted_levels(impacts: Iterable[Impact]) -> str:
    """Returns the number of impacts by level without their total, for example "1 destroys, 2 costs"."""
    count = Counter(impact.level for impact in impacts)
    return ", ".join(f"{count[level]} {level.value}" for level in Level if count[level])


def more_fields(count: int) -> str:
    """Returns the number of fields that are not shown, for example "and 2 more fields"."""
    return f"and {counted(count, 'more field')}"


def same_objects(pairs: Sequence[Pair]) -> str:
    """Returns the first of several objects with equal changes and a count, for example "Job nlp/a and 2 more"."""
    same = " with the same change" if pairs[0].is_changed else ""
    return str(pairs[0].manifest) + (f" and {len(pairs) - 1} more{same}" if len(pairs) > 1 else "")


def cause_text(group: CauseGroup) -> str:
    """Returns the changed value of the spec, for example "pools.train-h100.nodes.max: 16 -> 20"."""
    path = place(group.cause[1:] if group.cause[:1] == ("spec",) else group.cause)
    if group.spec_change is None:
        return path
    return f"{path}: {change_lines(group.spec_change.before, group.spec_change.after)[0]}"


def group_place(group: CauseGroup) -> str:
    """Returns the file and line of the cause, "specs/prod.yaml:12"; only the file if the cause is not in the spec."""
    if group.mark is None:
        return ""
    return f"{group.mark.file}:{group.mark.line}" if group.cause else group.mark.file


def same_fields(group: CauseGroup) -> list[tuple[list[Pair], tuple[ChangedField, ...]]]:
    """Returns groups of objects that change in the same way, each with the changed fields of its first object."""
    found: dict[tuple[object, ...], tuple[list[Pair], tuple[ChangedField, ...]]] = {}
    for pair, fields in group.objects:
        shown = tuple((changed.place, *change_lines(changed.field.before, changed.field.after)) for changed in fields)
        key = (change_word(pair), pair.manifest.kind, shown if pair.is_changed else ())
        found.setdefault(key, ([], fields))[0].append(pair)
    return list(found.values())

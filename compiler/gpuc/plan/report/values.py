"""Values of fields in words, for reports."""

from __future__ import annotations

import difflib
import json
from itertools import takewhile
from typing import Any

from gpuc.diagnostics.words import counted
from gpuc.plan.difference import MISSING

LINES = 12
"""The maximum number of changed lines of a text."""
LENGTH = 160
"""The maximum number of characters of a value."""
CONTEXT = 20
"""The number of characters before the first difference of long texts that begin in the same way."""


def change_lines(before: Any, after: Any) -> list[str]:
    """Returns the change of a value in one line. For a text of several lines, its changed lines follow."""
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
    """Returns a text with at most this number of characters, the rest as an ellipsis."""
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

"""Path patterns, and all places of a document that match a pattern."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any, Final

from gpuc.diagnostics.finding import Path

EVERY_ITEM: Final = "[]"
"""Every item of a list."""
EVERY_VALUE: Final = "*"
"""Every value of a map."""
Pattern = tuple[str, ...]

_STEP = re.compile(r"\{([^}]*)\}|(\[\])|([^.\[\]{}]+)")


@cache
def pattern(text: str) -> Pattern:
    """Returns the steps of "spec.flavors[].name" or "spec.*.template"; a key with dots is in braces: "labels.{a.b/c}"."""
    return tuple(braced or brackets or plain for braced, brackets, plain in _STEP.findall(text))


def places(value: Any, steps: Pattern, at: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yields the paths and values that match a pattern."""
    for number, step in enumerate(steps):
        if step in (EVERY_ITEM, EVERY_VALUE):
            rest = steps[number + 1 :]
            if step == EVERY_ITEM and isinstance(value, list):
                for index, item in enumerate(value):
                    yield from places(item, rest, (*at, index))
            elif step == EVERY_VALUE and isinstance(value, dict):
                for key, item in value.items():
                    yield from places(item, rest, (*at, key))
            return
        if not isinstance(value, dict) or step not in value:
            return
        value = value[step]
        at = (*at, step)
    yield at, value

"""Patterns of places in a document, and all places of a document that fit one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any, Final

from gpuc.diagnostics.finding import Path

EACH: Final = "[]"
"""Every item of a list."""
EVERY: Final = "*"
"""Every value of a map."""
Pattern = tuple[str, ...]

_STEP = re.compile(r"\{([^}]*)\}|(\[\])|([^.\[\]{}]+)")


@cache
def pattern(text: str) -> Pattern:
    """The steps of "spec.flavors[].name" or "spec.*.template"; a key with points stands in braces: "labels.{a.b/c}"."""
    return tuple(braced or each or plain for braced, each, plain in _STEP.findall(text))


def places(value: Any, steps: Pattern, at: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Path and value of everything at a pattern; nothing where the document has another shape."""
    for number, step in enumerate(steps):
        if step in (EACH, EVERY):
            rest = steps[number + 1 :]
            if step == EACH and isinstance(value, list):
                for index, item in enumerate(value):
                    yield from places(item, rest, (*at, index))
            elif step == EVERY and isinstance(value, dict):
                for key, item in value.items():
                    yield from places(item, rest, (*at, key))
            return
        if not isinstance(value, dict) or step not in value:
            return
        value = value[step]
        at = (*at, step)
    yield at, value

"""Patterns for paths such as "spec.flavors[].name", and the values of a document that match a pattern."""

import re
from collections.abc import Iterator
from functools import cache
from typing import Any, Final

from gpuc.diagnostics.finding import Path

EVERY_ITEM: Final = "[]"
"""The step of a pattern that matches every item of a list."""
EVERY_VALUE: Final = "*"
"""The step of a pattern that matches every value of a map."""
Pattern = tuple[str, ...]

_STEP = re.compile(r"\{([^}]*)\}|(\[\])|([^.\[\]{}]+)")


@cache
def pattern(text: str) -> Pattern:
    """Splits a pattern such as "spec.flavors[].name" or "spec.*.template" into its keys.

    [] matches every item of a list, and * every value of a map. Braces surround a key with dots: "labels.{a.b/c}".
    """
    return tuple(braced or brackets or plain for braced, brackets, plain in _STEP.findall(text))


def matching_values(value: Any, steps: Pattern, at: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yields the path and the value of every place in a document that matches a pattern.

    Args:
        at: the path of the document, which is added at the start of the yielded paths.
    """
    for number, step in enumerate(steps):
        if step in (EVERY_ITEM, EVERY_VALUE):
            rest = steps[number + 1 :]
            if step == EVERY_ITEM and isinstance(value, list):
                for index, item in enumerate(value):
                    yield from matching_values(item, rest, (*at, index))
            elif step == EVERY_VALUE and isinstance(value, dict):
                for key, item in value.items():
                    yield from matching_values(item, rest, (*at, key))
            return
        if not isinstance(value, dict) or step not in value:
            return
        value = value[step]
        at = (*at, step)
    yield at, value


def texts(value: Any, at: Path = ()) -> Iterator[tuple[Path, str]]:
    """Yields the path and the text of every string in parsed YAML. `at` is added at the start of the paths."""
    if isinstance(value, str):
        yield at, value
    elif isinstance(value, dict | list):
        for step, child in value.items() if isinstance(value, dict) else enumerate(value):
            yield from texts(child, (*at, step))

"""Finds values that gpuc cannot write as YAML in such a way that all tools read the same value."""

import re
from collections.abc import Iterator
from typing import Any

from gpuc.diagnostics.finding import Path

_UNREADABLE = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")
_NUMBER = re.compile(r"[-+]?(0[obx][0-9a-f]+|[0-9.]+(e[-+]?[0-9]+)?)", re.IGNORECASE)
_SUSPECT = re.compile(r".*_|[-+]?0[oOBX]", re.DOTALL)
_YAML11 = re.compile(
    r"[-+]?(0b[01_]+|0[0-7_]+|[0-9][0-9_]*|0x[0-9a-fA-F_]+|([0-9][0-9_]*)?(\.[0-9_]*)?([eE][-+]?[0-9]+)?)"
)
"""The numbers of YAML 1.1, which cdk8s writes in quotes if they are texts."""
_LARGEST = 2**53 - 1
"""Programs that read JSON may round larger integers."""


def unprintable(value: Any, *, allows_null: bool = False, path: Path = ()) -> Iterator[tuple[Path, str]]:
    """Yields the path of every value that gpuc cannot write as YAML, and the reason.

    Args:
        allows_null: whether null is a value. Helm values may contain null, Kubernetes objects may not.
        path: the path of the value, which starts the paths in the result.

    Source: compiler/gpuc/synth/printer.js (validate)
    """
    if isinstance(value, dict):
        for key, child in value.items():
            if reason := "the key __proto__ is not allowed" if key == "__proto__" else text_problem(key):
                yield (*path, key), reason
            yield from unprintable(child, allows_null=allows_null, path=(*path, key))
    elif isinstance(value, list):
        for index, child in enumerate(value):
            yield from unprintable(child, allows_null=allows_null, path=(*path, index))
    elif value is None and not allows_null:
        yield path, "null is not a value of an object; to remove a key, write null in a map of a merge patch"
    elif isinstance(value, str) and (reason := text_problem(value)):
        yield path, reason
    elif isinstance(value, int | float) and abs(value) > _LARGEST:
        yield path, f"the number {value} has more than 53 bits; JSON parsers would round it"


def text_problem(text: str) -> str:
    """Returns why some YAML parsers would read a text differently; an empty text if all read it correctly."""
    if match := _UNREADABLE.search(text):
        return f"the text contains the character U+{ord(match[0]):04X}, which YAML parsers drop or refuse"
    is_suspect = _SUSPECT.match(text) and not _YAML11.fullmatch(text)
    if text == "<<" or (is_suspect and _NUMBER.fullmatch(text.replace("_", ""))):
        return f"YAML parsers do not agree whether {text} is a text"
    return ""

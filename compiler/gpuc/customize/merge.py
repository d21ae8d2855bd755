"""Applies JSON merge patches, and compares parsed YAML values."""

import json
from collections.abc import Callable
from typing import Any

from gpuc.diagnostics.finding import Path


def merge_patch(target: Any, patch: Any, record: Callable[[Path], None], path: Path = ()) -> Any:
    """Applies a JSON merge patch to a value, and returns the new value. The argument does not change.

    Args:
        record: receives the path of every value that the patch sets or removes.
        path: the path of the target in its document.

    Source: RFC 7386, section 2
    """
    if not isinstance(patch, dict):
        record(path)
        return patch
    if not isinstance(target, dict):
        record(path)
        target = {}
    merged = dict(target)
    for key, value in patch.items():
        if value is None:
            record((*path, key))
            merged.pop(key, None)
        else:
            merged[key] = merge_patch(merged.get(key), value, record, (*path, key))
    return merged


def is_same(left: Any, right: Any) -> bool:
    """Returns whether two values are equal in JSON. Unlike in Python, true and 1 are different."""
    return json.dumps(left, sort_keys=True) == json.dumps(right, sort_keys=True)


def patch_between(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """Returns a JSON merge patch that changes one object (`before`) into another (`after`)."""
    patch: dict[str, Any] = dict.fromkeys(before.keys() - after.keys())
    for key, value in after.items():
        old = before.get(key)
        if isinstance(value, dict) and isinstance(old, dict):
            if nested := patch_between(old, value):
                patch[key] = nested
        elif key not in before or value != old:
            patch[key] = value
    return patch

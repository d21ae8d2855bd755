"""Applies JSON patches (RFC 6902), and finds the paths of the values that their operations change."""

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

from gpuc.diagnostics.finding import Path
from gpuc.diagnostics.place import place
from gpuc.diagnostics.spelling import alternatives, nearest
from gpuc.spec.patches import Operation

_MAX_LEVELS = 100
_MAX_VALUES = 100_000
"""Larger objects do not fit into a request to the API server. Operations that copy could double an object each time."""


class OperationError(Exception):
    """An operation of a JSON patch cannot be applied to an object. The message gives the reason."""


def apply_operation(document: Any, operation: Operation) -> tuple[Any, list[tuple[Path, bool]]]:
    """Applies an operation of a JSON patch to a document, which may change.

    Returns:
        The new document, and pairs of a changed path and a flag. The flag is True if the operation contains the value
        at the path, as `add` does, and False otherwise, for example for `remove`.

    Raises:
        OperationError: when the operation fails.
    """
    from jsonpatch import JsonPatch, JsonPatchException, JsonPatchTestFailed
    from jsonpointer import JsonPointerException

    changed = list(_changed_paths(document, operation))
    data = operation.model_dump(by_alias=True, exclude_unset=True)
    try:
        result = JsonPatch([deepcopy(data)]).apply(document, in_place=True)
    except JsonPatchTestFailed:
        raise OperationError(f"{place(changed[0][0])} has another value") from None
    except (JsonPatchException, JsonPointerException, TypeError, ValueError, LookupError) as error:
        raise OperationError(f"the operation is not possible: {error}") from None
    _check_size(result)
    return result, changed


def _check_size(document: Any) -> None:
    """Counts the values and levels of a document.

    Raises:
        OperationError: when there are too many.
    """
    level = [document]
    values = levels = 0
    while level:
        values, levels = values + len(level), levels + 1
        if values > _MAX_VALUES or levels > _MAX_LEVELS:
            raise OperationError(f"the object has more than {_MAX_VALUES} values, or more than {_MAX_LEVELS} levels")
        maps = (node.values() if isinstance(node, dict) else node for node in level if isinstance(node, dict | list))
        level = [child for children in maps for child in children]


def _changed_paths(document: Any, operation: Operation) -> Iterator[tuple[Path, bool]]:
    """Yields the paths that an operation changes.

    Raises:
        OperationError: when a path does not exist.
    """
    adds = operation.op in ("add", "move", "copy")
    if operation.from_ is not None:
        source = _path(document, operation.from_, adds=False)
        if operation.op == "move":
            yield source, False
    yield _path(document, operation.path, adds=adds), operation.op in ("add", "replace", "test")


def _path(document: Any, pointer: str, *, adds: bool) -> Path:
    """Returns the path of a JSON pointer.

    Args:
        adds: whether the last step may be a new key, or the position of a new item.

    Raises:
        OperationError: when the path does not exist.
    """
    steps = [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]]
    path: Path = ()
    for number, step in enumerate(steps):
        is_new = adds and number == len(steps) - 1
        if isinstance(document, list):
            position = _position(step, len(document), is_new)
            if position is None:
                raise OperationError(f"{place(path)} is a list of {len(document)} items and has no item {step}")
            path = (*path, position)
            document = document[position] if position < len(document) else None
        elif isinstance(document, dict) and (step in document or is_new):
            path = (*path, step)
            document = document.get(step)
        elif isinstance(document, dict):
            known = alternatives(list(document), nearest(step, document))
            raise OperationError(f"{place(path) or 'the object'} has no key {step}{known}")
        else:
            raise OperationError(f"{place(path)} is neither a map nor a list, and has no {step}")
    return path


def _position(step: str, length: int, is_new: bool) -> int | None:
    """Returns the position in a list; None if the list has no such position."""
    if step == "-" and is_new:
        return length
    if not (step.isascii() and step.isdigit()) or (step != "0" and step.startswith("0")) or len(step) > 9:
        return None
    position = int(step)
    return position if position < length + is_new else None

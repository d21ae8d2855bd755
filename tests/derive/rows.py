"""`python -m tests.derive.rows` compares each row of the catalog with its record type.

It exits with 1 if it prints an error.
"""

import json
import sys
from collections.abc import Iterator
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from gpuc.catalog.rows import choices, key_errors, location, read, tables


def errors() -> Iterator[str]:
    """Yields the errors of all rows: wrong keys, wrong types of values, and sources that the file does not declare."""
    for file, table in tables():
        for row in read(file)[table]:
            yield from row_errors(file, table, row)


def row_errors(file: str, table: str, row: dict[str, Any]) -> Iterator[str]:
    """Yields the errors of one row, one sentence for each key."""
    yield from key_errors(file, table, row)
    hints = get_type_hints(tables()[file, table][0])
    for key, value in row.items():
        if key in hints and not _fits(value, hints[key]):
            yield f'{location(file, table, row)}: "{key}" is {json.dumps(value)}, expected {_type_name(hints[key])}'
    declared = read(file).get("sources", {})
    sources = row.get("source", ())
    for key in sources if isinstance(sources, list) else ():
        if key not in declared:
            yield f'{location(file, table, row)}: "source" names "{key}", {choices(key, declared)}'


def _fits(value: Any, hint: Any) -> bool:
    """Returns whether a JSON value has the type that the record type declares for the field."""
    if get_origin(hint) in (Union, UnionType):
        return any(_fits(value, branch) for branch in get_args(hint))
    if get_origin(hint) is Literal:
        return value in get_args(hint)
    if get_origin(hint) is tuple:
        return isinstance(value, list) and all(_fits(element, get_args(hint)[0]) for element in value)
    if get_origin(hint) is dict:
        return isinstance(value, dict) and all(_fits(element, get_args(hint)[1]) for element in value.values())
    return type(value) is hint


def _type_name(hint: Any) -> str:
    if get_origin(hint) in (Union, UnionType):
        return " or ".join("null" if branch is type(None) else _type_name(branch) for branch in get_args(hint))
    if get_origin(hint) is Literal:
        return "one of " + ", ".join(json.dumps(choice) for choice in get_args(hint))
    if get_origin(hint) is tuple:
        return f"an array of {_type_name(get_args(hint)[0])}"
    names = {int: "an integer", str: "a string", float: "a number with a point", bool: "true or false"}
    return names.get(hint, str(hint))


if __name__ == "__main__":
    sys.exit("\n".join(errors()) or None)

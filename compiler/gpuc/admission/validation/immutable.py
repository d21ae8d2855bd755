"""The fields that the API server and webhooks do not allow to change: the tables "changes of <kind>".

A row has a path without lists, and a sentence, or the name of a function that yields the refused changes of the object:

    immutable                    the value changes; a field that one of the two objects does not have is not compared
    immutable, missing as VALUE  the value changes; a missing field has a default
    immutable except NAMES       a field below the path changes that is not one of the names
"""

from __future__ import annotations

import re

from gpuc.admission.validation.all_tables import tables
from gpuc.admission.validation.changes import ChangedObject, Refusals
from gpuc.admission.validation.sentences import literal

_IMMUTABLE = re.compile(r"immutable(?: except (?P<mutable>.+)|, missing as (?P<missing>\S+))?")


def refused_changes(kind: str, changed: ChangedObject) -> Refusals:
    """Yields the changed fields of an object that the API server or a webhook refuses, with the reason.

    Args:
        kind: API group and kind: "/Secret" or "batch/Job".
    """
    table = f"changes of {kind}"
    for path, sentence in tables().rows(table) if table in tables() else ():
        match = _IMMUTABLE.fullmatch(sentence)
        if match is None:
            yield from tables().functions[sentence](changed)
        elif match["mutable"]:
            for field in changed.fields:
                below = field.path[len(path) :]
                if field.is_below(*path) and below and below[0] not in match["mutable"].split():
                    yield field.path, f"the field {'.'.join(path)}.{below[0]} is immutable"
        elif changed.changes(*path):
            before, after = changed.values(*path)
            if default := match["missing"]:
                before, after = (literal(default) if value is None else value for value in (before, after))
            if before != after and (default or None not in (before, after)):
                yield path, f"the field {'.'.join(path)} is immutable"

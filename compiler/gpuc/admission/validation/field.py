"""The class Field: a field of a document with its unvalidated value, and the problems that checks find in the field.

A value can have a wrong type. The check of the schema reports this. All other checks treat such a value as missing.
"""

import json
from collections.abc import Iterator
from typing import Any

from gpuc.admission.documents import ALL_CONTAINERS, container_name
from gpuc.admission.request import Decision
from gpuc.diagnostics.finding import Path
from gpuc.objects.object_set import dig, items, pairs

INT32_MAX = 2**31 - 1
API_SERVER = "API server"
Problem = Decision
"""A decision "denied" about a field, or "unknown" about a field that gpuc does not check."""
Problems = Iterator[Problem]


class Field:
    """A field of a document. The field may be missing; a field with fields is also called a structure."""

    __slots__ = ("owner", "path", "table", "value")

    def __init__(self, path: Path, value: Any, owner: "Field | None" = None, table: str = "") -> None:
        self.path = path
        self.value = value
        """The unvalidated value; None if the field is missing."""
        self.owner = owner
        """The structure with the field; None for the structure that is checked first."""
        self.table = table
        """The name of the table that checks the fields of this structure."""

    def get(self, *steps: str | int) -> Any:
        """Returns the value at a path below this field; None if the path does not exist."""
        value = self.value
        return value.get(*steps) if len(steps) == 1 and isinstance(value, dict) else dig(value, *steps)

    def at(self, *steps: str | int) -> "Field":
        """Returns the field at a path below this field. It may be missing."""
        return Field((*self.path, *steps), dig(self.value, *steps), self)

    def rows(self, *steps: str | int) -> "Iterator[Field]":
        """Yields the items of the list at a path below this field."""
        for number, row in items(dig(self.value, *steps)):
            yield Field((*self.path, *steps, number), row, self)

    def entries(self, *steps: str | int) -> "Iterator[tuple[str, Field]]":
        """Yields the keys and the values of the map at a path below this field."""
        for key, value in pairs(dig(self.value, *steps)):
            yield key, Field((*self.path, *steps, key), value, self)

    def beside(self, *steps: str | int) -> Any:
        """Returns the value at a path below the structure that contains this field; None if the path does not exist."""
        return self.owner.get(*steps) if self.owner is not None else None

    def within(self, table: str) -> "Field":
        """Returns the innermost structure around this field that a table checks: with "pod", the pod of a container."""
        field: Field | None = self
        while field is not None and field.table != table:
            field = field.owner
        return field or Field((), None)

    def of_table(self, table: str) -> "Field":
        """Returns this structure, marked with the name of the table of constraints (see table.py) that checks it."""
        return Field(self.path, self.value, self.owner, table)

    @property
    def holder(self) -> str:
        """The container or else the pod that contains this field, in words: "init container setup"."""
        field: Field | None = self
        while field is not None and (len(field.path) < 2 or field.path[-2] not in ALL_CONTAINERS):
            field = field.owner
        return container_name(field.path, field.value) if field is not None else "the pod"

    @property
    def root(self) -> "Field":
        """The complete document that contains this field, for example a Job."""
        return self if self.owner is None else self.owner.root

    def reads(self, value: Any) -> "Field":
        """Returns a copy of this field with another value."""
        return Field(self.path, value, self.owner, self.table)

    @property
    def text(self) -> str:
        """The value if it is a string, otherwise the empty string."""
        return text(self.value)

    @property
    def number(self) -> int | None:
        """The value if it is an integer, otherwise None."""
        return number(self.value)

    @property
    def name(self) -> str:
        """The last step of the path: "image", or for an item of a list "containers[0]"."""
        if len(self.path) > 1 and isinstance(self.path[-1], int):
            return f"{self.path[-2]}[{self.path[-1]}]"
        return str(self.path[-1]) if self.path else "the object"

    def problem(self, message: str, fix: str = "") -> Problem:
        """Returns a decision "denied" with a message about the field."""
        return Decision("denied", API_SERVER, message, field=self.path, fix=fix)

    def missing(self, reason: str = "") -> Problem:
        """Returns a decision "denied", because the required field is missing or empty."""
        return self.problem(f"the required field {self.name} is missing{f': {reason}' if reason else ''}")

    def invalid(self, allowed: str, fix: str = "") -> Problem:
        """Returns a decision "denied", because the value of the field is not allowed.

        Args:
            allowed: the sentence part after "expected", for example "a DNS label".
        """
        return self.problem(f"{self.name} is {shown(self.value)}; expected {allowed}", fix)

    def not_checked(self, reason: str = "") -> Problem:
        """Returns a decision "unknown", because gpuc does not check the field."""
        message = f"gpuc does not check the field {self.path[-1]}{f': {reason}' if reason else ''}"
        return Decision("unknown", API_SERVER, message, field=self.path)


def text(value: Any) -> str:
    """Returns the value if it is a string, otherwise the empty string."""
    return value if isinstance(value, str) else ""


def number(value: Any) -> int | None:
    """Returns the value if it is an integer, otherwise None."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def count_or_one(value: Any) -> int:
    """Returns the value if it is an integer, otherwise 1, the usual default of numbers of pods."""
    own = number(value)
    return 1 if own is None else own


def shown(value: Any) -> str:
    """Returns a value for a message, as JSON with at most 80 characters."""
    line = json.dumps(value, ensure_ascii=False, default=str)
    return line if len(line) <= 80 else f"{line[:80]}..."

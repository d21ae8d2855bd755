"""What an engine says of an expression, and how a function of a rule says that it has no value."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

REFUSED = "no value: "
"""How the text of a NoValueError begins: engines hand on nothing but the text of an error."""


class NoValueError(ValueError):
    """Kubernetes' own function has no value for these arguments either. All other errors are of ours alone."""

    def __init__(self, why: str) -> None:
        super().__init__(REFUSED + why)


class Told(Enum):
    """What an engine says of an expression."""

    VALUE = "a value"
    FAILED = "an error of the object, at which the API server refuses it"
    CANNOT = "nothing that is known to hold in Kubernetes"


@dataclass(frozen=True, slots=True)
class Answer:
    """What an expression comes to."""

    told: Told
    value: bool | str | None = None
    why: str = ""
    """One line, where there is no value."""

    def __str__(self) -> str:
        return str(self.value).lower() if self.told is Told.VALUE else self.why


def first_line(error: object) -> str:
    """The first line of an error's text."""
    return (str(error).strip().splitlines() or [""])[0]

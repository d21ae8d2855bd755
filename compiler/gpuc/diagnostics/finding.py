"""What gpuc says to its user: faults with an id, findings at a place, and the stop of the line."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

Path = tuple[str | int, ...]
"""Steps from the root of the merged spec to a value: ("spec", "pools", "train-h100", "instances", 0)."""


class Severity(Enum):
    """How much a finding weighs: an error stops the compile, a warning and an info do not."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


@dataclass(frozen=True, slots=True)
class Mark:
    """A place in a file that a user wrote: path relative to the root, line and column from 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong, at one place."""

    id: str
    """Topic and three digits, for example KUE004; `gpuc explain` tells more about it."""
    severity: Severity
    message: str
    """What was seen, then what is allowed, in the words of the spec, without a closing period."""
    path: Path = ()
    """Where in the merged spec; the mark follows from it."""
    mark: Mark | None = None
    """Where in a file; None until the source has located the path."""
    fix: str = ""
    """What to write instead, only where it is certain."""
    on_key: bool = False
    """Whether the fault lies in the key at the path (an unknown one), not in its value."""
    cluster: str = ""
    """The cluster whose compile found it; empty where no cluster is known yet."""

    @property
    def is_error(self) -> bool:
        return self.severity is Severity.ERROR


@dataclass(frozen=True, slots=True)
class Rule:
    """A kind of mistake: what `gpuc explain` prints, and the maker of its findings."""

    id: str
    severity: Severity
    title: str
    """One sentence that names the fault, with a period."""
    why: str = ""
    """What happens in the cluster, or to the user, when it is let through."""
    source: str = ""
    """Who says so: a URL, or project, version and path."""

    def at(self, path: Path, message: str, *, fix: str = "", mark: Mark | None = None, on_key: bool = False) -> Finding:
        """The finding that this fault stands at a path of the spec, or at a mark of a file."""
        return Finding(self.id, self.severity, message, path, mark, fix, on_key)


RULES: dict[str, Rule] = {}
"""Every fault that was declared by an imported module, by id."""
_MODULES: dict[str, str] = {}
"""The module that declares each rule, by id."""


def declare_rule(
    id: str, severity: Severity, title: str, why: str = "", source: str = "", module: str = ""  # noqa: A002
) -> Rule:  # fmt: skip
    """Declares a rule.

    Args:
        module: the module that declares the rule; empty for the caller.

    Raises:
        DeclarationError: when another module declares the id.
    """
    module = module or str(sys._getframe(1).f_globals["__name__"])
    if id in RULES:
        raise DeclarationError(f"{id} is declared in {_MODULES[id]} and in {module}")
    made = Rule(id, severity, title, why, source)
    RULES[id], _MODULES[id] = made, module
    return made


class DeclarationError(ValueError):
    """Source of gpuc that is declared wrongly: a row of the catalog, a rule, a policy, a field of the spec."""


class StageError(Exception):
    """A stage found errors: all that it could see, after which nothing further runs."""

    def __init__(self, findings: Iterable[Finding]) -> None:
        self.findings = tuple(findings)
        super().__init__(f"{len(self.findings)} findings")

    def __reduce__(self) -> tuple[type[StageError], tuple[tuple[Finding, ...]]]:
        return StageError, (self.findings,)

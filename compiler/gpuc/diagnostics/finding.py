"""Rules, the findings that rules report, and the exception that ends a stage with findings."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

Path = tuple[str | int, ...]
"""Steps from the root of the merged spec to a value: ("spec", "pools", "train-h100", "instances", 0)."""


class Severity(Enum):
    """The weight of a finding: an error stops the compile, a warning and an info do not."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


@dataclass(frozen=True, slots=True)
class Mark:
    """A position in a file of the user: path relative to the root, line and column from 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True)
class Finding:
    """One violation of a rule, with its position."""

    id: str
    """The id of the rule: a topic and three digits, for example KUE007. `gpuc explain` describes the rule."""
    severity: Severity
    message: str
    """The actual value, then the allowed values, in the words of the spec, without a closing period."""
    path: Path = ()
    """The position in the merged spec. The mark follows from the path."""
    mark: Mark | None = None
    """The position in a file; None until the source has located the path."""
    fix: str = ""
    """The text to write instead; empty unless it is certain."""
    on_key: bool = False
    """Whether the key at the path is wrong (an unknown key), not the value."""
    cluster: str = ""
    """The cluster whose compile reported the finding; empty while no cluster is known."""

    @property
    def is_error(self) -> bool:
        return self.severity is Severity.ERROR


@dataclass(frozen=True, slots=True)
class Rule:
    """A kind of mistake that gpuc reports. `gpuc explain` prints it."""

    id: str
    severity: Severity
    title: str
    """One sentence that names the mistake, with a period."""
    why: str = ""
    """The effect of the mistake on the cluster or on the user."""
    source: str = ""
    """The evidence: a URL, or project, version and path."""

    def at(self, path: Path, message: str, *, fix: str = "", mark: Mark | None = None, on_key: bool = False) -> Finding:
        """Returns a finding of this rule at a path of the spec, or at a mark of a file."""
        return Finding(self.id, self.severity, message, path, mark, fix, on_key)


RULES: dict[str, Rule] = {}
"""Every rule that an imported module has declared, by id."""
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
    rule = Rule(id, severity, title, why, source)
    RULES[id], _MODULES[id] = rule, module
    return rule


class DeclarationError(ValueError):
    """A wrong declaration in gpuc's source: a row of the catalog, a rule, a policy or a field of the spec."""


class StageError(Exception):
    """A stage found errors. The exception holds all findings of the stage; later stages do not run."""

    def __init__(self, findings: Iterable[Finding]) -> None:
        self.findings = tuple(findings)
        super().__init__(f"{len(self.findings)} findings")

    def __reduce__(self) -> tuple[type[StageError], tuple[tuple[Finding, ...]]]:
        return StageError, (self.findings,)

"""Discovery of checks. A check is a function and a case file with examples.

The first line of the docstring of the function is the title of the rule, and the rest is the reason. A long source is
the last paragraph, which begins with "Source:". The case file has the name of the function and the suffix .yaml. It
contains good and bad examples, separated by `---`. Each line for which gpuc reports a finding ends with `#! ID`. A
module has the name of its only check, or several checks of one subject. gpuc discovers the modules in the folders of a
package, so no list names them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import Generic, TypeVar

from gpuc.diagnostics.finding import Rule, Severity, declare_rule

Subject = TypeVar("Subject")
RawFinding = TypeVar("RawFinding")
"""The type that the function of a check yields: a message with a path or an object, without rule and position."""


@dataclass(frozen=True, slots=True)
class Check(Generic[Subject, RawFinding]):
    """A rule, and the function that yields the findings of the rule in a subject, for example a cluster."""

    rule: Rule
    find: Callable[[Subject], Iterator[RawFinding]]


class Checks(Generic[Subject, RawFinding]):
    """All checks of a package. Each folder of the package is a topic."""

    def __init__(self, package: str) -> None:
        self._package = package
        self._checks: list[Check[Subject, RawFinding]] = []

    def declare(
        self, id: str, severity: Severity = Severity.ERROR, *, source: str = "", level: str = ""  # noqa: A002
    ) -> Callable[[Callable[[Subject], Iterator[RawFinding]]], Check[Subject, RawFinding]]:  # fmt: skip
        """Returns a decorator that declares a rule and registers the function as its check.

        Args:
            level: the level of an impact; empty for findings.
        """

        def register(find: Callable[[Subject], Iterator[RawFinding]]) -> Check[Subject, RawFinding]:
            title, _, text = (find.__doc__ or "").strip().partition("\n")
            why, _, long_source = " ".join(text.split()).partition(" Source: ")
            rule = declare_rule(id, severity, title, why, source or long_source, find.__module__, level)
            check = Check(rule, find)
            self._checks.append(check)
            return check

        return register

    def discover(self) -> list[Check[Subject, RawFinding]]:
        """Imports the modules of all topics and returns their checks, sorted by rule id."""
        folder = os.path.dirname(import_module(self._package).__file__ or "")
        for topic in sorted(item.name for item in os.scandir(folder) if item.is_dir()):
            if topic.isidentifier() and not topic.startswith("_"):
                list(modules(f"{self._package}.{topic}"))
        return sorted(self._checks, key=lambda check: check.rule.id)


def modules(package: str) -> Iterator[ModuleType]:
    """Imports the modules of a package whose names do not begin with an underscore, and yields them by name."""
    (folder,) = import_module(package).__path__
    for file in sorted(os.listdir(folder)):
        if file.endswith(".py") and not file.startswith("_"):
            yield import_module(f"{package}.{file[:-3]}")

"""A check: a module with one function and its rule, and a case file with examples.

The function has the name of its module. The first line of its docstring is the title of the rule; the rest is the
reason. The case file has the name of the module and the suffix .yaml. It holds good and bad examples, separated by
`---`; each line with a finding ends with `#! ID`. gpuc discovers the modules in the folders of a package; no list
names them.
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
Found = TypeVar("Found")


@dataclass(frozen=True, slots=True)
class Check(Generic[Subject, Found]):
    """A rule, and the function that yields its findings in a subject."""

    rule: Rule
    find: Callable[[Subject], Iterator[Found]]


class Checks(Generic[Subject, Found]):
    """All checks of a package: each folder of the package is a topic."""

    def __init__(self, package: str) -> None:
        self._package = package
        self._checks: list[Check[Subject, Found]] = []

    def declare(
        self, id: str, severity: Severity = Severity.ERROR, *, source: str = ""  # noqa: A002
    ) -> Callable[[Callable[[Subject], Iterator[Found]]], Check[Subject, Found]]:  # fmt: skip
        """Returns a decorator that makes a function the check of a new rule."""

        def register(find: Callable[[Subject], Iterator[Found]]) -> Check[Subject, Found]:
            title, _, why = (find.__doc__ or "").strip().partition("\n")
            check = Check(declare_rule(id, severity, title, " ".join(why.split()), source, find.__module__), find)
            self._checks.append(check)
            return check

        return register

    def discover(self) -> list[Check[Subject, Found]]:
        """Imports the modules of all topics and returns their checks, sorted by id."""
        folder = os.path.dirname(import_module(self._package).__file__ or "")
        for topic in sorted(entry.name for entry in os.scandir(folder) if entry.is_dir()):
            if topic.isidentifier() and not topic.startswith("_"):
                list(modules(f"{self._package}.{topic}"))
        return sorted(self._checks, key=lambda check: check.rule.id)


def modules(package: str) -> Iterator[ModuleType]:
    """Imports the public modules of a package and yields them, sorted by name."""
    (folder,) = import_module(package).__path__
    for file in sorted(os.listdir(folder)):
        if file.endswith(".py") and not file.startswith("_"):
            yield import_module(f"{package}.{file[:-3]}")

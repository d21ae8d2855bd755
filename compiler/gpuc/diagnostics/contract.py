"""The contract of everything that can be wrong: one module with one function, one docstring, one id and one case file.

The function is called like its module. Its docstring is the title of the fault and, below that, the reason. The case
file beside the module has the same name and the ending .yaml: parts divided by `---`, good ones and bad ones. A line
that is reported ends with `#! ID`. Modules are found in the folders of a package, and listed nowhere.
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
    """A rule, and the function that finds it in a subject."""

    rule: Rule
    find: Callable[[Subject], Iterator[Found]]


class Checks(Generic[Subject, Found]):
    """All checks below one package, by topic."""

    def __init__(self, package: str) -> None:
        self._package = package
        self._checks: list[Check[Subject, Found]] = []

    def declare(
        self, id: str, severity: Severity = Severity.ERROR, *, source: str = ""  # noqa: A002
    ) -> Callable[[Callable[[Subject], Iterator[Found]]], Check[Subject, Found]]:  # fmt: skip
        """Makes a function the check of a fault."""

        def register(find: Callable[[Subject], Iterator[Found]]) -> Check[Subject, Found]:
            title, _, why = (find.__doc__ or "").strip().partition("\n")
            made = Check(declare_rule(id, severity, title, " ".join(why.split()), source, find.__module__), find)
            self._checks.append(made)
            return made

        return register

    def discover(self) -> list[Check[Subject, Found]]:
        """Every check in the order of the ids; their modules are imported first."""
        folder = os.path.dirname(import_module(self._package).__file__ or "")
        for topic in sorted(entry.name for entry in os.scandir(folder) if entry.is_dir()):
            if topic.isidentifier() and not topic.startswith("_"):
                list(modules(f"{self._package}.{topic}"))
        return sorted(self._checks, key=lambda check: check.rule.id)


def modules(package: str) -> Iterator[ModuleType]:
    """The public modules of a package, in the order of their names."""
    (folder,) = import_module(package).__path__
    for file in sorted(os.listdir(folder)):
        if file.endswith(".py") and not file.startswith("_"):
            yield import_module(f"{package}.{file[:-3]}")

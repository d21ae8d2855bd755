"""Declares checks and finds them. A check is a function that looks for mistakes; it has one or several rules.

The docstring of a check with one rule is the title of the rule. The file rules.toml in the folder of the check has the
reason and the source of the rule. The case file has the name of the function and the suffix .yaml. The case file has
good and bad examples, separated by `---`. Each line for which gpuc reports a finding ends with `#! ID`.

A check with several rules reads the objects only once for all of them. The module of the check declares the rules, and
rules.toml has their titles too. The case file has the name of the module (see diagnostics/report/examples.py).

gpuc finds the modules in the folders of a package, so no list names the modules.
"""

import os
from collections.abc import Callable, Container, Iterator
from enum import Enum
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Generic, TypeVar

from msgspec import Struct

from gpuc.diagnostics.finding import Rule, Severity, declare_rule, rule_rows

Subject = TypeVar("Subject")
RawFinding = TypeVar("RawFinding")
"""The type that the function of a check yields: a message with a path or an object, without rule and position."""


class Needs(Enum):
    """The input that a check reads: a spec, some Kubernetes objects, or all objects of a cluster."""

    SPEC = "spec"
    """The spec of a cluster, or the cluster that the spec describes."""
    OBJECTS = "objects"
    """Objects. If some objects of the cluster are not in the input, the check has fewer findings."""
    CLUSTER = "cluster"
    """All objects of a cluster of the kinds that the check reads."""


class When(Enum):
    """The commands in which gpuc runs a check of objects."""

    COMPILE = "compile"
    """On the output of each compile."""
    LINT = "lint"
    """On the files of `gpuc lint`, on manifests of users, and on output that a customization changes."""
    BOTH = "both"


EVERY_KIND = ("*",)
"""The kinds of a check that reads objects of every kind, and Helm values."""
PODS = "pods"
"""Objects with pod templates, in the kinds of a check."""
HELM_VALUES = "Helm values of "
"""The prefix of the Helm values of a chart, in the kinds of a check."""


class Check(Struct, Generic[Subject, RawFinding], frozen=True):
    """A function that looks for mistakes in a subject, such as a cluster, with the rules that it can report."""

    rules: tuple[Rule, ...]
    find: Callable[[Subject], Iterator[RawFinding]]
    needs: Needs = Needs.SPEC
    when: When = When.COMPILE
    kinds: tuple[str, ...] = EVERY_KIND
    """The kinds of the objects that the check reads: "kueue.x-k8s.io/*", "apps/Deployment" or "ConfigMap".

    If two sets have equal objects of these kinds, the check has the same findings in both sets."""

    @property
    def rule(self) -> Rule:
        """The rule of the check, or the first of its rules if the check has several."""
        return self.rules[0]

    @property
    def substrate(self) -> str:
        """The folder of the substrate that the check is for, for example on_premises; empty for all substrates."""
        _, _, place = self.find.__module__.partition("gpuc.substrates.")
        return place.partition(".")[0]

    def reads(self, kinds: Container[str]) -> bool:
        """Returns whether the check reads objects of at least one of these kinds."""
        return any(kind in kinds for kind in self.kinds)

    def __call__(self, subject: Subject) -> Iterator[RawFinding]:
        return self.find(subject)


class Checks(Generic[Subject, RawFinding]):
    """All checks in a package. Each folder of the package contains the checks about one topic.

    The checks for one component or one substrate are in its own folder, in a subfolder with the name of the package.
    """

    def __init__(self, package: str) -> None:
        self._package = package
        self._checks: list[Check[Subject, RawFinding]] = []
        self._is_complete = False

    def declare(
        self,
        id: str,  # noqa: A002
        severity: Severity = Severity.ERROR,
        *,
        level: str = "",
        needs: Needs = Needs.SPEC,
        when: When = When.COMPILE,
        kinds: tuple[str, ...] = EVERY_KIND,
    ) -> Callable[[Callable[[Subject], Iterator[RawFinding]]], Check[Subject, RawFinding]]:
        """Returns a decorator that makes a function a check with one new rule. The function's docstring is the title.

        Args:
            level: the level of an impact, if the package contains impacts of `gpuc plan`; empty for findings.
        """

        def register(find: Callable[[Subject], Iterator[RawFinding]]) -> Check[Subject, RawFinding]:
            title, module = (find.__doc__ or "").strip(), find.__module__
            (folder,) = import_module(module.rpartition(".")[0]).__path__
            rule = declare_rule(id, severity, title, **rule_rows(folder)[id], module=module, level=level)
            return self.finds(rule, needs=needs, when=when, kinds=kinds)(find)

        return register

    def finds(
        self, *rules: Rule, needs: Needs, when: When, kinds: tuple[str, ...] = EVERY_KIND
    ) -> Callable[[Callable[[Subject], Iterator[RawFinding]]], Check[Subject, RawFinding]]:
        """Returns a decorator that makes a function a check with rules that are declared already."""

        def register(find: Callable[[Subject], Iterator[RawFinding]]) -> Check[Subject, RawFinding]:
            check = Check(rules, find, needs, when, kinds)
            self._checks.append(check)
            return check

        return register

    def discover(self) -> list[Check[Subject, RawFinding]]:
        """Imports the modules of all topics and returns their checks, sorted by the id of the first rule."""
        if not self._is_complete:
            for folder in (*_folders(self._package), *part_folders(self._package.rpartition(".")[2])):
                list(modules(folder))
            self._is_complete = True
        return sorted(self._checks, key=lambda check: check.rule.id)


def part_folders(name: str) -> Iterator[str]:
    """Yields the packages with this name, for example rules, in the folders of components and substrates."""
    yield from _folders("gpuc.components", name)
    for substrate in _folders("gpuc.substrates"):
        yield from (package for package in (f"{substrate}.{name}",) if find_spec(package))
        yield from _folders(substrate, name)


def _folders(package: str, name: str = "") -> Iterator[str]:
    """Yields the packages below a package. With a name, yields the packages with this name in each of them."""
    (root,) = import_module(package).__path__
    for folder in sorted(os.listdir(root)):
        if folder.isidentifier() and not folder.startswith("_") and os.path.isdir(os.path.join(root, folder, name)):
            yield ".".join(part for part in (package, folder, name) if part)


def modules(package: str) -> Iterator[ModuleType]:
    """Imports the modules of a package in the order of their names. Modules with an underscore first are left out."""
    (folder,) = import_module(package).__path__
    for file in sorted(os.listdir(folder)):
        if file.endswith(".py") and not file.startswith("_"):
            yield import_module(f"{package}.{file[:-3]}")

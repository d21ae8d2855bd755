"""Rules: faults that a resolved cluster can have, one per file below its topic, discovered and never listed."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Iterator

from gpuc.diagnostics.finding import Fault, Finding, Path, Severity, fault
from gpuc.model import Cluster

Breaches = Iterator[tuple[Path, str] | tuple[Path, str, str]]
"""Places where a rule is broken: the spec path, what was seen and what is allowed, and a fix where one is certain."""

Check = Callable[[Cluster], Breaches]

_RULES: list[tuple[Fault, Check]] = []


def rule(id: str, severity: Severity = Severity.ERROR, *, source: str = "") -> Callable[[Check], Check]:  # noqa: A002
    """Makes a function the rule of a fault: its docstring is the title, and below that the reason."""

    def register(check: Check) -> Check:
        title, _, why = (check.__doc__ or "").strip().partition("\n")
        _RULES.append((fault(id, severity, title, " ".join(why.split()), source), check))
        return check

    return register


def check(cluster: Cluster) -> list[Finding]:
    """Every breach of every rule, rules in the order of their ids."""
    discover()
    findings = []
    for broken, find in sorted(_RULES, key=lambda entry: entry[0].id):
        for path, message, *fix in find(cluster):
            findings.append(broken.at(path, message, fix=fix[0] if fix else ""))
    return findings


def discover() -> None:
    """Imports every rule, so that FAULTS knows them all."""
    folder = os.path.dirname(__file__)
    for topic in sorted(entry.name for entry in os.scandir(folder) if entry.is_dir() and entry.name.isidentifier()):
        if topic.startswith("_"):
            continue
        for file in sorted(os.listdir(os.path.join(folder, topic))):
            if file.endswith(".py") and not file.startswith("_"):
                importlib.import_module(f"gpuc.rules.{topic}.{file[:-3]}")

"""Rules: faults that a resolved cluster can have, one per file below its topic, discovered and never listed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gpuc.diagnostics.contract import Checks
from gpuc.diagnostics.finding import Finding, Path

if TYPE_CHECKING:
    from gpuc.model import Cluster

PolicyViolation = tuple[Path, str] | tuple[Path, str, str]
Findings = Iterator[PolicyViolation]
"""Places where a rule is broken: the spec path, the value and what is allowed, and a fix where one is certain."""

RULES: Checks[Cluster, PolicyViolation] = Checks("gpuc.rules")
rule = RULES.declare
"""Makes a function the rule of a fault: its docstring is the title, and below that the reason."""


def check(cluster: Cluster) -> list[Finding]:
    """Every breach of every rule, rules in the order of their ids."""
    findings = []
    for found in RULES.discover():
        for path, message, *fix in found.find(cluster):
            findings.append(found.rule.at(path, message, fix=fix[0] if fix else ""))
    return findings

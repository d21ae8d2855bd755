"""Rules for resolved clusters, one rule per file below its topic. Modules are discovered, not listed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gpuc.diagnostics.contract import Checks
from gpuc.diagnostics.finding import Finding, Path

if TYPE_CHECKING:
    from gpuc.model import Cluster

RuleFinding = tuple[Path, str] | tuple[Path, str, str]
"""Spec path; message with the actual and the expected value; the fix, if only one change is right."""
Findings = Iterator[RuleFinding]

RULES: Checks[Cluster, RuleFinding] = Checks("gpuc.rules")
rule = RULES.declare
"""Declares a function as a rule. The first line of its docstring is the title, the rest is the reason."""


def check(cluster: Cluster) -> list[Finding]:
    """Runs all rules and returns their findings, in the order of rule ids."""
    findings = []
    for rule_check in RULES.discover():
        for path, message, *fix in rule_check.find(cluster):
            findings.append(rule_check.rule.at(path, message, fix=fix[0] if fix else ""))
    return findings

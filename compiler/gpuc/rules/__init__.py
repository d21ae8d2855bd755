"""Rules that check a resolved cluster. A folder is a topic, and a module of a topic is a rule.

gpuc discovers the modules, so no list names them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gpuc.diagnostics.contract import Checks
from gpuc.diagnostics.finding import Finding, Path

if TYPE_CHECKING:
    from gpuc.model import Cluster

RuleFinding = tuple[Path, str] | tuple[Path, str, str]
"""The path in the spec, the message with the actual and the expected value, and the fix if the rule knows the fix."""
Findings = Iterator[RuleFinding]

RULES: Checks[Cluster, RuleFinding] = Checks("gpuc.rules")
rule = RULES.declare
"""Decorator that declares a function as a rule.

The first line of the function's docstring is the title of the rule, and the rest is the reason.
"""


def check(cluster: Cluster) -> list[Finding]:
    """Runs all rules on the cluster and returns the findings, sorted by rule id."""
    findings = []
    for rule_check in RULES.discover():
        for path, message, *fix in rule_check.find(cluster):
            findings.append(rule_check.rule.at(path, message, fix=fix[0] if fix else ""))
    return findings

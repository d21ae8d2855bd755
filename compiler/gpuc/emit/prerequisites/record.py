"""The records about what a cluster needs from outside of the output, and the commands that check them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from gpuc.diagnostics.finding import Path
from gpuc.model import Cluster

AWS: Path = ("spec", "cloud", "aws")


@dataclass(frozen=True, slots=True, kw_only=True)
class Prerequisite:
    """One thing outside of the output that an object of the output needs."""

    id: str
    """The kind and the name, for example "iam-role/KarpenterNodeRole-prod-use1". `gpuc.needs` finds the same ids in
    the objects."""
    what: str
    """The thing in words."""
    reason: str
    """What happens without the thing."""
    checks: tuple[str, ...]
    """Commands that check the thing and change nothing."""
    expected: str
    """What the commands print if the thing is right."""
    path: Path
    """The spec path that states the thing."""
    facts: Mapping[str, str] = field(default_factory=dict)
    """Properties that the thing must have, by name. Two records of the same thing must state the same value."""


@dataclass(frozen=True, slots=True)
class Chapter:
    """A chapter of the cluster's README: the prerequisites of one subject, and the text around them."""

    title: str
    template: str
    """The name of the template with the text."""
    prerequisites: tuple[Prerequisite, ...]
    values: Mapping[str, object] = field(default_factory=dict)
    """The variables of the template."""

    def checks(self, *chosen: str) -> list[str]:
        """Returns the commands that check some prerequisites, each command once.

        Args:
            chosen: ids, or kinds: "iam-role" for all IAM roles.
        """
        found = [item for item in self.prerequisites if item.id in chosen or item.id.partition("/")[0] in chosen]
        return list(dict.fromkeys(command for item in found for command in item.checks))


def kubectl(cluster: Cluster) -> str:
    """Returns the program and context for commands in the cluster."""
    return "kubectl" if cluster.spec.delivery.destination.is_own_cluster else 'kubectl --context "$WORKLOAD"'


def hub_kubectl(cluster: Cluster) -> str:
    """Returns the program and context for commands in the cluster in which Argo CD runs."""
    return "kubectl" if cluster.spec.delivery.destination.is_own_cluster else 'kubectl --context "$HUB"'


def aws(cluster: Cluster, operation: str, arguments: str = "") -> str:
    """Returns a command of the AWS CLI in the region of the cluster.

    Args:
        operation: service and operation, for example "eks describe-cluster".
    """
    return " ".join(filter(None, ("aws", operation, "--region", cluster.aws.region, arguments)))


def wrapped(command: str, indent: int = 4, width: int = 150) -> str:
    """Returns a command as the lines of a code block in Markdown. A long command continues after a backslash."""
    lines = [""]
    for part in _PART.findall(command):
        if lines[-1] and len(lines[-1]) + len(part) >= width:
            lines.append("")
        lines[-1] += part
    return " \\\n".join(" " * (indent + 2 * (number > 0)) + line.strip() for number, line in enumerate(lines))


_WORD = r"(?:[^\s'\"]|'[^']*'|\"[^\"]*\")+"
_PART = re.compile(rf"\s*{_WORD}(?:\s+(?!--(?!context)|\|){_WORD})*")
"""A part of a command that stays on one line: an option with its values, or a program after a pipe."""


def names(prerequisites: Iterable[Prerequisite]) -> list[str]:
    """Returns the names of prerequisites, without their kinds."""
    return [item.id.partition("/")[2] for item in prerequisites]

"""The classes of prerequisites (what a cluster needs from outside of the output) and of chapters in the README."""

import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path as File
from string import Template
from typing import Any

from msgspec import Struct, field

from gpuc.diagnostics.finding import Path
from gpuc.emit.substrate import substrate_output
from gpuc.model import Cluster
from gpuc.parts.folders import table_beside

_table = cache(table_beside)
Row = tuple[str, Path, Mapping[str, str]]
"""A record of a chapter: (key of the entry in the chapter's table, spec path that requires the thing, variables).

The variables are for the texts of the entry. The id of the record is the id in the entry, or else the key of the entry.
The variable `name` completes the id.
"""


class Prerequisite(Struct, frozen=True, kw_only=True):
    """One thing outside of the output that an object of the output needs, for example an IAM role."""

    id: str
    """The kind and the name, for example "iam-role/KarpenterNodeRole-prod-use1". `gpuc.needs` finds the same ids in
    the objects."""
    what: str
    """A description of the thing."""
    reason: str
    """What happens without the thing."""
    checks: tuple[str, ...]
    """Commands that check the thing and change nothing."""
    expected: str
    """What the commands print if the thing is right."""
    path: Path
    """The spec path because of which the cluster needs the thing."""
    facts: Mapping[str, str] = field(default_factory=dict)
    """Properties that the thing must have, by name. Two records of the same thing must state the same value."""


class Chapter(Struct, frozen=True):
    """A chapter of the cluster's README: the prerequisites of one subject, and the text around them."""

    title: str
    template: File
    """The template with the text."""
    prerequisites: tuple[Prerequisite, ...]
    values: Mapping[str, object] = field(default_factory=dict)
    """The variables of the template."""

    def checks(self, *chosen: str) -> list[str]:
        """Returns the commands that check some prerequisites, each command once.

        Args:
            chosen: ids of prerequisites, or kinds: "iam-role" for all IAM roles.
        """
        found = [item for item in self.prerequisites if item.id in chosen or item.id.partition("/")[0] in chosen]
        return list(dict.fromkeys(command for item in found for command in item.checks))


def written(cluster: Cluster, files: str | File, title: str, rows: Iterable[Row], **values: object) -> Chapter:
    """Returns a chapter of the README with its prerequisites.

    Args:
        files: the path without suffix of two files: the table with texts (.toml) and the template (.md.j2). The path is
            relative to this folder, or absolute.
        rows: the prerequisites. Their texts are in the table, or in connections.toml.
        values: the variables of the template.
    """
    path = File(__file__).parent / files
    table, common = _table(File(__file__).with_name("connections")) | _table(path), variables(cluster)
    records = tuple(_record(entry, table[entry], origin, {**common, **own}) for entry, origin, own in rows)
    return Chapter(title, path.with_suffix(".md.j2"), records, values)


def variables(cluster: Cluster) -> dict[str, str]:
    """Returns the variables that all chapters and prerequisites can use: names of the cluster, and commands."""
    destination = cluster.spec.delivery.destination
    is_hub = not destination.is_own_cluster
    return {
        "cluster_name": cluster.name,
        **substrate_output(cluster).texts(cluster),
        "argocd": destination.namespace,
        "kubectl": 'kubectl --context "$WORKLOAD"' if is_hub else "kubectl",
        "hub": 'kubectl --context "$HUB"' if is_hub else "kubectl",
    }


def _record(entry: str, texts: Mapping[str, Any], path: Path, known: Mapping[str, str]) -> Prerequisite:
    def filled(text: str) -> str:
        return Template(text).substitute(known)

    return Prerequisite(
        id="/".join((texts.get("id", entry), *([known["name"]] if "name" in known else []))),
        what=filled(texts["what"]),
        reason=filled(texts["reason"]),
        checks=tuple(filter(None, map(filled, texts["checks"]))),
        expected=filled(texts["expected"]),
        path=path,
        facts=texts.get("facts", {}),
    )


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

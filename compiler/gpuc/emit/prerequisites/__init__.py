"""What a cluster needs from outside of the output: records, in the order in which the cluster's README lists them."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from pathlib import Path

from gpuc.emit.prerequisites.access import iam, members, service_accounts
from gpuc.emit.prerequisites.connections import efa, namespaces, network
from gpuc.emit.prerequisites.nodes import capacity, instance_types, placement, system_nodes, topology
from gpuc.emit.prerequisites.record import Chapter, Prerequisite, variables, wrapped
from gpuc.emit.prerequisites.software import argocd, definitions, job_controllers, other_teams, prometheus
from gpuc.emit.template import render
from gpuc.model import Cluster

CHAPTERS = (
    system_nodes, iam, network, instance_types, efa, placement, capacity, members, service_accounts, topology,
    prometheus, namespaces, job_controllers, other_teams, definitions, argocd,
)  # fmt: skip
"""The functions that return the chapters, in the order in which an engineer needs them."""


def chapters(cluster: Cluster) -> list[Chapter]:
    """Returns the chapters with prerequisites of the cluster."""
    return [found for chapter in CHAPTERS if (found := chapter(cluster)).prerequisites]


def prerequisites(cluster: Cluster) -> list[Prerequisite]:
    """Returns all prerequisites of a cluster, in the order of the README. A thing can have several records."""
    return [item for chapter in chapters(cluster) for item in chapter.prerequisites]


def preparation(cluster: Cluster, found: Iterable[Chapter]) -> str:
    """Returns the section of the README with all chapters, in Markdown.

    Args:
        found: the chapters of the cluster.
    """
    return "\n".join(
        f"### {number}. {chapter.title}\n\n{_text(cluster, chapter)}" for number, chapter in enumerate(found, 1)
    )


def _text(cluster: Cluster, chapter: Chapter) -> str:
    values = {
        **variables(cluster),
        "cluster": cluster,
        "spec": cluster.spec,
        "aws": cluster.aws,
        "is_hub": not cluster.spec.delivery.destination.is_own_cluster,
        "checks": partial(_commands, chapter),
        "item_checks": partial(_commands, chapter, indent=7),
        **chapter.values,
    }
    return render(Path(__file__).parent, chapter.template, **values)


def _commands(chapter: Chapter, *chosen: str, indent: int = 4) -> str:
    return "\n".join(wrapped(command, indent) for command in chapter.checks(*chosen))

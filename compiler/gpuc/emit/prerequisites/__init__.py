"""The prerequisites of a cluster: what it needs from outside of the output, in the order of the cluster's README."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial

from gpuc.emit.component import needed_components
from gpuc.emit.prerequisites.record import Chapter, Prerequisite, variables, wrapped
from gpuc.emit.prerequisites.software import (
    argocd,
    claims,
    definitions,
    job_controllers,
    namespaces,
    other_teams,
    prometheus,
)
from gpuc.emit.substrate import substrate_output
from gpuc.emit.template import render
from gpuc.model import Cluster, once_for_each_cluster

CHAPTERS: Mapping[int, Callable[[Cluster], Chapter]] = {
    110: prometheus, 120: namespaces, 130: job_controllers, 140: other_teams, 150: definitions,
    155: claims, 160: argocd,
}  # fmt: skip
"""The functions that return the chapters of all clusters, by place: the order in which an engineer needs them."""


@once_for_each_cluster
def chapters(cluster: Cluster) -> list[Chapter]:
    """Returns the chapters of the cluster's README about prerequisites, without chapters that have no prerequisite."""
    preparations = (component.preparation for component in needed_components(cluster))
    of_components = ((preparation.place, preparation.chapter) for preparation in preparations if preparation)
    of_substrate = substrate_output(cluster).chapters.items()
    ordered = sorted((*CHAPTERS.items(), *of_substrate, *of_components), key=lambda row: row[0])
    return [found for _, chapter in ordered if (found := chapter(cluster)).prerequisites]


def prerequisites(cluster: Cluster) -> list[Prerequisite]:
    """Returns all prerequisites of a cluster, in the order of the README.

    The result can name the same thing twice, for example if two chapters of the README need it.
    """
    return [item for chapter in chapters(cluster) for item in chapter.prerequisites]


def preparation(cluster: Cluster, found: Iterable[Chapter]) -> str:
    """Returns the section of the README with all chapters about prerequisites, in Markdown.

    Args:
        found: the result of `chapters`.
    """
    return "\n".join(
        f"### {number}. {chapter.title}\n\n{_text(cluster, chapter)}" for number, chapter in enumerate(found, 1)
    )


def _text(cluster: Cluster, chapter: Chapter) -> str:
    values = {
        **variables(cluster),
        "cluster": cluster,
        "spec": cluster.spec,
        **substrate_output(cluster).values(cluster),
        "network": cluster.network,
        "is_hub": not cluster.spec.delivery.destination.is_own_cluster,
        "checks": partial(_commands, chapter),
        "item_checks": partial(_commands, chapter, indent=7),
        **chapter.values,
    }
    return render(chapter.template.parent, chapter.template.name, **values)


def _commands(chapter: Chapter, *chosen: str, indent: int = 4) -> str:
    return "\n".join(wrapped(command, indent) for command in chapter.checks(*chosen))

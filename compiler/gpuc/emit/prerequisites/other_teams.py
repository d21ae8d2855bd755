"""Components that other teams install."""

from __future__ import annotations

from gpuc.emit.component import needed_components
from gpuc.emit.prerequisites.record import Chapter, Row, written
from gpuc.emit.prerequisites.unmanaged import unmanaged_components
from gpuc.model import Cluster


def chapter(cluster: Cluster) -> Chapter | None:
    """Returns the chapter about components of other teams; None if gpuc installs all components."""
    unmanaged = unmanaged_components(cluster, needed_components(cluster))
    releases = [component.release for component in unmanaged]
    rows: list[Row] = [
        (
            "component",
            ("spec", "components", it.component),
            {"name": it.component, "chart": it.chart, "version": it.version, "namespace": it.namespace},
        )
        for it in releases
    ]
    return written(cluster, "other_teams", "Components of other teams", rows, unmanaged=unmanaged) if rows else None

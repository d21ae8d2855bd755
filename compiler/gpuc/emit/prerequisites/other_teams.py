"""Components that other teams install, and definitions of kinds that only manifests of users have."""

from __future__ import annotations

from gpuc.emit.component import needed_components
from gpuc.emit.prerequisites.record import Chapter, Prerequisite, kubectl
from gpuc.emit.prerequisites.unmanaged import unmanaged_components
from gpuc.model import Cluster


def chapter(cluster: Cluster) -> Chapter | None:
    """Returns the chapter about components of other teams; None if gpuc installs all components."""
    unmanaged = unmanaged_components(cluster, needed_components(cluster))
    if not unmanaged:
        return None
    prerequisites = tuple(
        Prerequisite(
            id=f"component/{component.release.component}",
            what=f"the chart {component.release.chart} {component.release.version} in {component.release.namespace}",
            reason="objects of gpuc need the controller and its definitions",
            checks=(
                f"{kubectl(cluster)} -n {component.release.namespace} get deployments,daemonsets -L helm.sh/chart",
            ),
            expected=f"{component.release.chart} in this version",
            path=("spec", "components", component.release.component),
        )
        for component in unmanaged
    )
    return Chapter("Components of other teams", "other_teams.md.j2", prerequisites, {"unmanaged": unmanaged})

"""The charts whose version changes, and what the new versions demand."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from gpuc.catalog.records import Release
from gpuc.diagnostics.finding import Path
from gpuc.manifest.manifest import Manifest
from gpuc.plan.applications import component_of, kept_applications
from gpuc.plan.change import Change
from gpuc.plan.programs import restart_effect

_RELEASES = ("spec", "releases")


@dataclass(frozen=True)
class ChartChange:
    """A chart with another version."""

    application: Manifest
    """The Application after the change."""
    component: str
    before: str
    after: str
    details: tuple[str, ...]
    effect: str
    """What happens with the programs of the component."""
    path: Path
    """The path of the version in the Application."""

    @property
    def is_older(self) -> bool:
        """Whether the new version is older."""
        return _numbers(self.after) < _numbers(self.before)

    def place(self, change: Change) -> tuple[Manifest | None, Path]:
        """Returns the version in the spec; else the Application and the path of its version."""
        own = (*_RELEASES, "components", self.component)
        changed = [one.path for one in change.spec_changes if one.path[:2] == _RELEASES and one.path[:3] != own[:3]]
        if any(one.path == own for one in change.spec_changes):
            return None, own
        if changed:
            return None, changed[0]
        return self.application, self.path


def chart_changes(change: Change) -> Iterator[ChartChange]:
    """Yields the charts of both states whose version differs."""
    for before, after in kept_applications(change):
        old, new = before.chart, after.chart
        if old and new and old.chart == new.chart and old.revision != new.revision:
            component = component_of(change, after.name)
            is_definitions = new.chart.endswith("-crd")
            effect = "its CustomResourceDefinitions change" if is_definitions else "its programs restart"
            demands = tuple(_demands(change, component))
            path = (*new.path, "targetRevision")
            yield ChartChange(after.manifest, component, old.revision, new.revision, demands, effect, path)


def _demands(change: Change, component: str) -> Iterator[str]:
    """Yields what stops during the change of a version, and what the new version demands."""
    if effect := restart_effect(change, component):
        yield effect
    cluster = change.after.cluster
    release = cluster.components.get(component) if cluster else None
    if release is None:
        return
    if release.kubernetes_min or release.kubernetes_max:
        last = f" to {release.kubernetes_max}" if release.kubernetes_max else " or newer"
        tested = "" if _is_known(change, release) else ", as the version that gpuc knows"
        yield f"{component} supports Kubernetes {release.kubernetes_min or '?'}{last}{tested}"
    if release.crds_from and release.crds_from != component:
        yield f"its definitions are in component {release.crds_from}, which must have the same version"


def _is_known(change: Change, release: Release) -> bool:
    """Returns whether the range of Kubernetes in the catalog is of this version of the chart."""
    rows = (rows.get(release.component) for rows in change.after.objects.catalog.releases.values())
    return any(row.version == release.version for row in rows if row)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version)[:3])

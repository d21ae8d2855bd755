"""Who installs the chart of a component: Argo CD, or another team."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

from gpuc.cluster.application import ARGO, application_in
from gpuc.diagnostics.finding import Path
from gpuc.manifest.manifest import Manifest
from gpuc.plan.applications import chart_of, component_of
from gpuc.plan.change import Change, Pair

Installer = Literal["Argo CD", "another team", ""]


class Installation(NamedTuple):
    """The chart of a component whose installer changes."""

    component: str
    pair: Pair
    """The Application of the chart."""
    before: Installer
    after: Installer
    """An empty string if the cluster does not need the component."""

    @property
    def chart(self) -> str:
        """The chart and its version."""
        source = chart_of(self.pair.manifest)
        return f"{source.chart} {source.revision}" if source else ""

    @property
    def namespace(self) -> str:
        """The namespace of the chart."""
        return application_in(self.pair.manifest).destination.namespace or "(none)"

    def place(self, change: Change) -> tuple[Manifest | None, Path]:
        """Returns the manifest and the path for an impact: the field `managed` of the spec if it changes."""
        path = ("spec", "components", self.component, "managed")
        if any(one.path == path for one in change.spec_changes):
            return None, path
        return self.pair.manifest, ()


def values_of_other_team(manifest: Manifest | None) -> bool:
    """Returns whether Helm values are for a chart that another team installs: they are in clusters/."""
    return manifest is not None and manifest.file.startswith("clusters/")


def changed_installations(change: Change) -> Iterator[Installation]:
    """Yields the charts whose Application is added or removed, in clusters that stay."""
    if not (change.before.exists and change.after.exists):
        return
    values = {pair.name: pair for pair in change.helm_values()}
    for pair in change.pairs(ARGO, "Application"):
        is_in_both = change.before.application(pair.name) and change.after.application(pair.name)
        if is_in_both or not chart_of(pair.manifest):
            continue
        component = component_of(change, pair.name)
        of_component = values.get(component)
        other = None
        if of_component is not None:
            other = of_component.after if pair.is_removed else of_component.before
        yield Installation(component, pair, *_installers(pair, values_of_other_team(other)))


def _installers(pair: Pair, has_other_team: bool) -> tuple[Installer, Installer]:
    other: Installer = "another team" if has_other_team else ""
    return ("Argo CD", other) if pair.is_removed else (other, "Argo CD")

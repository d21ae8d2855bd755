"""Who installs the chart of a component: Argo CD, or another team."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

from gpuc.diagnostics.finding import Path
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import dig
from gpuc.plan.applications import GROUP, applications, chart_source, component_of
from gpuc.plan.change import Change, Pair
from gpuc.plan.impact import Raised

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
        return " ".join(chart_source(self.pair.manifest)[:2])

    @property
    def namespace(self) -> str:
        """The namespace of the chart."""
        return str(dig(self.pair.manifest.body, "spec", "destination", "namespace") or "(none)")

    def raised(self, change: Change, message: str, details: tuple[str, ...]) -> Raised:
        """Returns an impact at the field `managed` of the spec if it changes, or else at the Application."""
        path: Path = ("spec", "components", self.component, "managed")
        manifest, path = (None, path) if path in change.changed_paths(*path) else (self.pair.manifest, ())
        return Raised(f"component {self.component}", message, manifest, path, details)


def values_of_other_team(manifest: Manifest | None) -> bool:
    """Returns whether Helm values are for a chart that another team installs: they are in clusters/."""
    return manifest is not None and manifest.file.startswith("clusters/")


def changed_installations(change: Change) -> Iterator[Installation]:
    """Yields the charts whose Application is added or removed, in clusters that stay."""
    if not (change.before.exists and change.after.exists):
        return
    before, after = ({found.name for found in applications(state)} for state in (change.before, change.after))
    for pair in change.pairs(GROUP, "Application"):
        if not chart_source(pair.manifest).chart or pair.name in before & after:
            continue
        component = component_of(change, pair.name)
        values = change.values_of(component)
        others = (values.after if pair.is_removed else values.before) if values else None
        other: Installer = "another team" if values_of_other_team(others) else ""
        yield Installation(component, pair, *(("Argo CD", other) if pair.is_removed else (other, "Argo CD")))

"""The charts whose version or installer changes, and the programs that restart because of the change.

The installer of a chart is Argo CD or another team.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

from msgspec import Struct

from gpuc.cluster.application import ARGO, application_in
from gpuc.diagnostics.finding import Path
from gpuc.emit.component import component_named
from gpuc.lint.load.chart_installs import CHART_KINDS, VERSION_PATHS
from gpuc.manifest.manifest import Manifest
from gpuc.plan.applications import chart_of, component_of, kept_applications
from gpuc.plan.change import Change, Pair
from gpuc.plan.differences import FieldChange
from gpuc.plan.impact import Raised


def restarting_values(pair: Pair) -> list[FieldChange]:
    """Returns the changed Helm values of a component that make its programs restart."""
    component = component_named(pair.name)
    if not pair.is_changed or component is None or component.restarts is None:
        return list(pair.leaves) if pair.is_changed else []
    known, others = component.restarts.in_pods, component.restarts.in_no_pod
    return [
        field for field in pair.leaves if (known is None or _is_one_of(field, known)) and not _is_one_of(field, others)
    ]


def restart(change: Change, component: str, fields: Sequence[FieldChange]) -> tuple[str, str]:
    """Returns two texts for a message: which programs restart, for example "programs restart", and the effect."""
    facts = component_named(component)
    for part in facts.restarts.partial if facts and facts.restarts else ():
        if all(_is_one_of(field, part.values) for field in fields):
            return part.programs, part.effect
    return "programs restart", restart_effect(change, component)


def restart_effect(change: Change, component: str) -> str:
    """Returns what happens while all programs of a component restart; an empty string if the effect is unknown."""
    facts, pair = component_named(component), change.values_of(component)
    return facts.restarts.effect(pair.after.body if pair and pair.after else {}) if facts and facts.restarts else ""


def _is_one_of(field: FieldChange, values: Iterable[str]) -> bool:
    return any(field.is_below(*value.split(".")) for value in values)


_RELEASES = ("spec", "releases")


class ChartChange(Struct, frozen=True):
    """A chart that a change upgrades or downgrades."""

    application: Manifest
    """The Application, or the other object that installs the chart, after the change."""
    component: str
    before: str
    after: str
    details: tuple[str, ...]
    effect: str
    """What happens with the programs of the component."""
    cause: Path
    """The path of the version in the spec; empty if the spec does not name it."""
    path: Path
    """The path of the version in the object."""

    @property
    def is_older(self) -> bool:
        """Whether the version after the change is older than the version before the change."""
        return numbers(self.after) < numbers(self.before)

    def raised(self, version: str, effect: str) -> Raised:
        """Returns an impact whose message begins with `version` (for example "chart kueue") and ends with `effect`."""
        message = f"{version} {self.after} instead of {self.before}; {effect}"
        manifest, path = (None, self.cause) if self.cause else (self.application, self.path)
        return Raised(f"component {self.component}", message, manifest, path, self.details)


def chart_changes(change: Change) -> Iterator[ChartChange]:
    """Yields each chart that is installed before and after the change, in different versions."""
    for manifest, component, chart, (old, new), path in _versions(change):
        if old != new:
            is_definitions = chart.endswith("-crd")
            effect = "its CustomResourceDefinitions change" if is_definitions else "its programs restart"
            details, cause = tuple(_demands(change, component)), _cause(change, component)
            yield ChartChange(manifest, component, old, new, details, effect, cause, path)


def _versions(change: Change) -> Iterator[tuple[Manifest, str, str, tuple[str, str], Path]]:
    """Yields the installed charts: the object, the component, the chart, the two versions, and the path."""
    for before, after in kept_applications(change):
        old, new = before.chart, after.chart
        if old and new and old.chart == new.chart:
            versions, path = (old.revision, new.revision), (*new.path, "targetRevision")
            yield after.manifest, component_of(change, after.name), new.chart, versions, path
    for kind in CHART_KINDS:
        path = VERSION_PATHS.get(kind[1], ())
        for pair in change.kept(*kind) if path else ():
            (was, chart), (first, last) = pair.values(*path[:-1], "chart"), pair.values(*path)
            if was == chart and all(isinstance(text, str) for text in (chart, first, last)):
                yield pair.manifest, (name := chart.rpartition("/")[2]), name, (first, last), path


def _cause(change: Change, component: str) -> Path:
    """Returns the changed version of a component in the spec, or else the changed release."""
    own = (*_RELEASES, "components", component)
    changed = change.changed_paths(*_RELEASES)
    return own if own in changed else next((path for path in changed if path[:3] != own[:3]), ())


def _demands(change: Change, component: str) -> Iterator[str]:
    """Yields what stops while the version changes, and what the new version requires."""
    if effect := restart_effect(change, component):
        yield effect
    cluster = change.after.cluster
    release = cluster.components.get(component) if cluster else None
    if release is None:
        return
    if release.kubernetes_min or release.kubernetes_max:
        last = f" to {release.kubernetes_max}" if release.kubernetes_max else " or newer"
        known = {
            row.version for rows in change.after.objects.catalog.releases.values() for row in rows.values()
            if row.component == release.component
        }  # fmt: skip
        tested = "" if release.version in known else ", as the version that gpuc knows"
        yield f"{component} supports Kubernetes {release.kubernetes_min or '?'}{last}{tested}"
    if release.crds_from and release.crds_from != component:
        yield f"its definitions are in component {release.crds_from}, which must have the same version"


def numbers(version: str) -> tuple[int, ...]:
    """Returns the first three numbers of a version, for example (1, 14, 1) for "v1.14.1"."""
    return tuple(int(number) for number in re.findall(r"\d+", version)[:3])


Installer = Literal["Argo CD", "another team", ""]


class Installation(NamedTuple):
    """A chart that gets another installer because of a change, for example another team instead of Argo CD."""

    component: str
    pair: Pair
    """The Application of the chart."""
    before: Installer
    after: Installer
    """An empty string if the cluster does not need the component."""

    @property
    def chart(self) -> str:
        """The name and the version of the chart, for example "kueue 0.19.2"."""
        source = chart_of(self.pair.manifest)
        return f"{source.chart} {source.revision}" if source else ""

    @property
    def namespace(self) -> str:
        """The namespace in which Argo CD installs the chart."""
        return application_in(self.pair.manifest).destination.namespace or "(none)"

    def raised(self, change: Change, message: str, details: tuple[str, ...]) -> Raised:
        """Returns an impact at the field `managed` of the spec if it changes, or else at the Application."""
        path: Path = ("spec", "components", self.component, "managed")
        manifest, path = (None, path) if path in change.changed_paths(*path) else (self.pair.manifest, ())
        return Raised(f"component {self.component}", message, manifest, path, details)


def values_of_other_team(manifest: Manifest | None) -> bool:
    """Returns whether gpuc wrote Helm values to clusters/, for another team that installs the chart."""
    return manifest is not None and manifest.file.startswith("clusters/")


def changed_installations(change: Change) -> Iterator[Installation]:
    """Yields the charts whose Application is added or removed, if the cluster exists before and after the change."""
    if not (change.before.exists and change.after.exists):
        return
    for pair in change.pairs(ARGO, "Application"):
        is_in_both = change.before.application(pair.name) and change.after.application(pair.name)
        if is_in_both or not chart_of(pair.manifest):
            continue
        component = component_of(change, pair.name)
        values = change.values_of(component)
        others = (values.after if pair.is_removed else values.before) if values else None
        other: Installer = "another team" if values_of_other_team(others) else ""
        yield Installation(component, pair, *(("Argo CD", other) if pair.is_removed else (other, "Argo CD")))

"""Impacts on the versions and Helm values of charts, and on the version of Kubernetes."""

from collections.abc import Iterator

from gpuc.diagnostics.place import place
from gpuc.diagnostics.words import first_names
from gpuc.plan.applications import component_of, kept_applications
from gpuc.plan.change import Change
from gpuc.plan.chart_changes import (
    changed_installations,
    chart_changes,
    numbers,
    restart,
    restarting_values,
    values_of_other_team,
)
from gpuc.plan.impact import Impacts, Level, Raised, impact
from gpuc.plan.substrate import substrate_plan


@impact("IMP601", Level.RESTRICTS)
def chart_upgraded(change: Change) -> Impacts:
    """A chart gets a newer version."""
    for chart in chart_changes(change):
        if not chart.is_older:
            yield chart.raised("version", chart.effect)


@impact("IMP602", Level.DISRUPTS)
def chart_downgraded(change: Change) -> Impacts:
    """A chart gets an older version."""
    for chart in chart_changes(change):
        if chart.is_older:
            yield chart.raised("older version", "it may not read objects of the newer version")


@impact("IMP605", Level.RESTRICTS)
def chart_repository_changes(change: Change) -> Impacts:
    """A chart comes from another repository, for example from a mirror."""
    for before, after in kept_applications(change):
        old, new = before.chart, after.chart
        if old and new and old.url != new.url:
            message = (
                f"Argo CD reads chart {new.chart} {new.revision} from {new.url} instead of {old.url}; "
                "without the version there, or without credentials, the sync fails"
            )
            yield Raised(
                f"component {component_of(change, after.name)}", message, after.manifest, (*new.path, "repoURL")
            )


@impact("IMP610", Level.NONE)
def component_added(change: Change) -> Impacts:
    """The cluster needs a component that it did not need before, so Argo CD installs the chart of the component."""
    for found in changed_installations(change):
        if not found.before:
            message = f"Argo CD installs chart {found.chart} in namespace {found.namespace}"
            values = change.values_of(found.component)
            manifest = (values.after if values else None) or found.pair.after
            agents = tuple(_node_agents(change, found.component))
            yield Raised(f"component {found.component}", message, manifest, (), agents)


def _node_agents(change: Change, component: str) -> Iterator[str]:
    """Yields a sentence for each DaemonSet of the component."""
    catalog = change.after.cluster.catalog if change.after.cluster else None
    for row in catalog.daemonsets if catalog else ():
        if row.component == component:
            nodes = "all nodes" if row.nodes == "all" else f"nodes with {row.nodes.upper()}"
            requests = f"{row.cpu_milli}m CPU and {row.memory_mib}Mi memory"
            yield f"DaemonSet {row.name} requests {requests} on {nodes}"


_SHOWN = 4


@impact("IMP603", Level.RESTRICTS)
def component_restarts(change: Change) -> Impacts:
    """The Helm values of a component change, so the programs of the component restart."""
    for pair in change.helm_values():
        fields = restarting_values(pair)
        if fields and not values_of_other_team(pair.after):
            names = list(dict.fromkeys(place(field.path[:3]).removeprefix("metadata.") for field in fields))
            programs, effect = restart(change, pair.name, fields)
            message = f"its {programs}, because values change: {first_names(names, _SHOWN)}"
            yield pair.raised(message, fields[0].path, (effect,) if effect else ())


@impact("IMP611", Level.RESTRICTS)
def values_for_other_team(change: Change) -> Impacts:
    """The Helm values change of a component that another team installs, so this team has to install the new values."""
    for pair in change.helm_values():
        if values_of_other_team(pair.before) and values_of_other_team(pair.after) and pair.fields:
            names = list(dict.fromkeys(place(field.path[:3]) for field in pair.fields))
            message = f"the team that installs the chart has to change values: {first_names(names, _SHOWN)}"
            details = (f"the values: {pair.manifest.file}", "the objects of gpuc do not wait for this change")
            yield pair.raised(message, pair.fields[0].path, details)


@impact("IMP604", Level.DISRUPTS)
def kubernetes_changes(change: Change) -> Impacts:
    """The spec names a newer version of Kubernetes."""
    text, versions = _versions(change)
    if versions > 0:
        more, details = substrate_plan(change.after).control_plane(change, versions)
        message = f"{text}: neither gpuc nor Argo CD upgrades the control plane{more}"
        yield Raised(f"cluster {change.after.name}", message, path=("spec", "kubernetes"), details=details)


@impact("IMP612", Level.DISRUPTS)
def kubernetes_older(change: Change) -> Impacts:
    """The spec names an older version of Kubernetes."""
    text, versions = _versions(change)
    if versions >= 0:
        return
    way, more = substrate_plan(change.after).control_plane(change, versions)
    details = (
        "first: replace the nodes with nodes of the older version, because a kubelet must not be newer than the API "
        "server; then roll back the control plane",
        *more,
        "if the cluster never had the newer version, only the output of gpuc changes",
    )
    yield Raised(f"cluster {change.after.name}", f"{text}: {way}", path=("spec", "kubernetes"), details=details)


def _versions(change: Change) -> tuple[str, int]:
    """Returns the versions of Kubernetes in words, and the number of versions in between; 0 without both specs."""
    if not change.before.cluster or not change.after.cluster:
        return "", 0
    before, after = (state.cluster.spec.kubernetes for state in (change.before, change.after) if state.cluster)
    return f"Kubernetes {after} instead of {before}", numbers(after)[-1] - numbers(before)[-1]

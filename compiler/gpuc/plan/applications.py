"""Finds the Argo CD Applications that a change affects, and the cluster and component of each Application."""

from collections.abc import Iterator

from gpuc.cluster.application import ARGO, Application, Source, application_in
from gpuc.manifest.manifest import Manifest
from gpuc.plan.change import Change


def cluster_name(change: Change) -> str:
    """Returns the name of the cluster; an empty string if the name is not known.

    The name comes from the spec. Without a spec, the name is the AppProject of the Applications, if the names of all
    Applications begin with this AppProject, for example AppProject prod and Application prod-kueue.
    """
    if name := change.after.name or change.before.name:
        return name
    found = (*change.after.applications, *change.before.applications)
    projects = {application.project for application in found if application.project}
    names = [
        project for project in projects if all(application.name.startswith(f"{project}-") for application in found)
    ]
    return names[0] if len(names) == 1 else ""


def cluster_subject(change: Change) -> str:
    """Returns the cluster as the subject of a sentence, for example "cluster prod-use1"."""
    return f"cluster {cluster_name(change)}".rstrip()


def component_of(change: Change, application: str) -> str:
    """Returns the component whose chart an Application installs: "kueue" for Application "prod-use1-kueue"."""
    return application.removeprefix(f"{cluster_name(change)}-")


def chart_of(manifest: Manifest | None) -> Source | None:
    """Returns the chart that an Application installs; None if there is no Application or if it installs no chart."""
    return application_in(manifest).chart if manifest else None


def kept_applications(change: Change) -> Iterator[tuple[Application, Application]]:
    """Yields each Application that exists before and after the change, as a pair. Root Applications are left out."""
    for pair in change.pairs(ARGO, "Application"):
        if pair.before and pair.after and not pair.manifest.file.startswith("clusters/"):
            yield application_in(pair.before), application_in(pair.after)


def changed_applications(change: Change) -> Iterator[Application]:
    """Yields the Applications that Argo CD syncs because of the change, in the order of their sync waves."""
    names: set[str] = set()
    for pair in change.all_pairs:
        if not pair.fields:
            continue
        if pair.manifest.kind == "Application":
            names.add(pair.name)
        state = change.before if pair.is_removed else change.after
        if found := state.application_of(pair.manifest):
            names.add(found.name)
    components = {pair.name for pair in change.helm_values() if pair.fields}
    for application in change.after.applications:
        if application.name in names or component_of(change, application.name) in components:
            yield application

"""Impacts on Applications, and on the charts that they install."""

from gpuc.cluster.application import ARGO, application_in
from gpuc.cluster.project import project_of
from gpuc.diagnostics.words import counted
from gpuc.objects.object_set import dig, group
from gpuc.plan.applications import chart_of, cluster_subject, component_of, kept_applications
from gpuc.plan.change import Change
from gpuc.plan.chart_changes import changed_installations, chart_changes
from gpuc.plan.impact import Impacts, Level, Raised, impact
from gpuc.plan.pruning import kinds_text


@impact("IMP506", Level.RESTRICTS)
def application_removed(change: Change) -> Impacts:
    """An Application is removed, but the objects that Argo CD installed for the Application stay in the cluster."""
    if change.is_removed:
        return
    described = {pair.name for pair in change.pairs(ARGO, "Application") if not pair.is_removed} | _described(change)
    described |= {found.pair.name for found in changed_installations(change) if found.after}
    for pair in change.pairs(ARGO, "Application"):
        if pair.is_removed and pair.name not in described:
            chart = chart_of(pair.before)
            what = f"chart {chart.chart} {chart.revision} stays" if chart else "its objects stay"
            namespace = application_in(pair.manifest).destination.namespace
            removal = (
                f"the programs of the chart go on in namespace {namespace} and get no updates; to remove them: "
                f"helm template {chart.chart if chart else ''} with the values of the state before, and kubectl delete "
                "--filename -, without CustomResourceDefinitions that still have objects"
            )
            message = f"the Application is removed, and {what} in the cluster"
            yield pair.raised(message, (), (removal,) if chart else ())


def _described(change: Change) -> set[str]:
    """Returns the Applications before the change that other impacts describe, because their objects go or move."""
    found = set()
    for pair in change.all_pairs:
        if pair.before and pair.before.api and (pair.is_removed or change.after.application_of(pair.manifest)):
            old = change.before.application_of(pair.before)
            found |= {old.name} if old else set()
    return found


@impact("IMP512", Level.DISRUPTS)
def component_moves(change: Change) -> Impacts:
    """A component is installed in another namespace than before."""
    for old, new in kept_applications(change):
        before, after = old.destination.namespace, new.destination.namespace
        if before == after or not new.chart:
            continue
        project = project_of(change.after.objects, new)
        is_permitted = project is None or project.permits_destination(new.destination._replace(namespace=before))
        is_deleted = new.prunes and is_permitted
        message = (
            f"moves from namespace {before} to {after}: Argo CD creates its objects in {after} and "
            f"{'deletes' if is_deleted else 'leaves'} those in {before}"
        )
        advice = (
            f"after the sync, delete the namespaced objects of the chart in {before}, because two controllers "
            "work until then; before the merge, Argo CD would create them again"
        )
        subject, path = f"component {component_of(change, new.name)}", ("spec", "destination", "namespace")
        yield Raised(subject, message, new.manifest, path, () if is_deleted else (advice,))


@impact("IMP524", Level.RESTRICTS)
def chart_handed_over(change: Change) -> Impacts:
    """Argo CD no longer installs the chart of a component, because another team installs the chart."""
    for found in changed_installations(change):
        if found.after == "another team":
            name = change.after.name
            message = (
                f"chart {found.chart} stays in namespace {found.namespace} without Argo CD: another team has to "
                "install it with the values of gpuc"
            )
            details = (
                f"the values: clusters/{name}/values/{found.component}.yaml; the reasons: clusters/{name}/README.md",
                "its objects keep the annotation argocd.argoproj.io/tracking-id of the removed Application",
            )
            yield found.raised(change, message, details)


@impact("IMP525", Level.DISRUPTS)
def chart_taken_over(change: Change) -> Impacts:
    """Argo CD installs the chart of a component that another team installed before."""
    for found in changed_installations(change):
        if found.before == "another team":
            message = (
                f"Argo CD installs chart {found.chart} in namespace {found.namespace}, where another team installed it "
                "before: objects with the same names get the values of gpuc, and programs whose pod template differs "
                "restart"
            )
            details = (
                "before the merge: the other team stops its own delivery of the chart",
                "if the other team used Argo CD, then remove the annotation argocd.argoproj.io/tracking-id from its "
                "objects; until then the sync fails",
                "an installation with another release name or namespace has to be removed first, without its "
                "CustomResourceDefinitions, because their deletion deletes all objects of their kinds",
            )
            yield found.raised(change, message, details)


@impact("IMP510", Level.NONE)
def sync_order(change: Change) -> Impacts:
    """Several Applications are new, and the root Application creates them in the order of their sync waves."""
    if change.is_new:
        return
    found = [
        application for application in change.after.applications if not change.before.application(application.name)
    ]
    if len(found) > 1:
        prefix = f"{change.after.name}-"
        names = ", ".join(f"{added.name.removeprefix(prefix)} ({added.wave})" for added in found)
        message = f"Argo CD creates {len(found)} Applications in the order of their sync waves: {names}"
        details = (
            "a wave starts when all Applications of earlier waves are healthy",
            "Applications that exist sync their objects at once, without this order",
        )
        # The cause of an object in the spec is more exact than that of its Application.
        added = (pair.manifest for pair in change.all_pairs if pair.is_added)
        objects = (manifest for manifest in added if change.after.application_of(manifest) in found)
        yield Raised(cluster_subject(change), message, next(objects, found[0].manifest), (), details)


@impact("IMP513", Level.NONE)
def version_with_objects(change: Change) -> Impacts:
    """One commit changes the version of a chart and objects of the kinds that the chart defines."""
    written = [pair.after for pair in change.all_pairs if pair.after is not None and pair.fields]
    for chart in chart_changes(change):
        groups = _api_groups(change, chart.component)
        if found := [manifest for manifest in written if group(manifest) in groups]:
            objects = counted(len(found), "object")
            message = f"the old version can get {objects} of this change before Argo CD installs {chart.after}"
            details = (
                f"objects: {kinds_text(found)}",
                "two changes instead, if the objects use a field of the new version: first the version, then them",
            )
            yield Raised(f"component {chart.component}", message, chart.application, chart.path, details)


def _api_groups(change: Change, component: str) -> set[str]:
    """Returns the API groups of the custom resources that a chart defines or that its programs read."""
    releases = [
        release
        for rows in change.after.objects.catalog.releases.values()
        for release in rows.values()
        if component in (release.component, release.crds_from)
    ]
    return {name for release in releases for name in release.groups}


@impact("IMP528", Level.NONE)
def health_checks_change(change: Change) -> Impacts:
    """The health checks of Argo CD change, which an administrator installs as Helm values of Argo CD."""
    file = f"clusters/{change.after.name}/argocd-health.yaml"
    before, after = change.before.texts.get(file), change.after.texts.get(file)
    if before and after and before != after:
        path = next(iter((*change.changed_paths("spec", "pools"), *change.changed_paths())), ())
        message = f"the health checks of Argo CD change: install {file} with the Helm chart of Argo CD"
        yield Raised(f"cluster {change.after.name}", message, path=path)


_FIELDS = {"repoURL": "repository", "targetRevision": "revision", "path": "path"}


@impact("IMP511", Level.DISRUPTS)
def source_changes(change: Change) -> Impacts:
    """The Applications read their objects from another repository, branch or path."""
    for pair in change.pairs(ARGO, "Application"):
        before, after = pair.values("spec", "source")
        fields = [field for field in _FIELDS if dig(before, field) != dig(after, field)]
        is_root = pair.manifest.file.startswith("clusters/")
        if pair.is_changed and fields and not is_root and not dig(after, "chart"):
            places = [f"{_FIELDS[field]} {dig(after, field)} instead of {dig(before, field)}" for field in fields]
            message = f"Argo CD reads all objects from another place: {', '.join(places)}"
            details = (
                f"before the merge: check that revision {dig(after, 'targetRevision')} of {dig(after, 'repoURL')} has "
                f"{_folder(str(dig(after, 'path')), change.after.name)}/, and that Argo CD may read it",
                "objects that the new place does not contain are pruned, unless they are protected",
            )
            yield Raised(cluster_subject(change), message, pair.after, ("spec", "source", fields[0]), details)
            return


def _folder(path: str, cluster: str) -> str:
    """Returns the folder of the cluster in the path of an Application; the path if it has no such folder."""
    start, found, _ = path.partition(f"/{cluster}/")
    return f"{start}/{cluster}" if cluster and found else path


_FIELD_NOUNS = {"repoURL": "repository", "targetRevision": "revision", "server": "cluster of Argo CD"}


@impact("IMP507", Level.RESTRICTS)
def root_changes(change: Change) -> Impacts:
    """The root Application changes. The change has no effect until an administrator applies the root Application."""
    for pair in change.pairs(ARGO, "Application"):
        if pair.is_changed and pair.manifest.file.startswith("clusters/"):
            fields = dict.fromkeys(str(field.path[-1]) for field in pair.fields)
            names = ", ".join(_FIELD_NOUNS.get(name, name) for name in fields)
            message = f"the change of {names} of the root Application has no effect until an administrator applies it"
            details = (f"after the merge: kubectl apply --server-side --filename {pair.manifest.file}",)
            yield pair.raised(message, pair.fields[0].path, details)

"""Impacts on objects that Argo CD prunes, leaves in the cluster or creates again, and on workload templates."""

from collections import defaultdict
from collections.abc import Iterator

from gpuc.admission.validation.kueue_changes import Refused
from gpuc.cluster.application import ARGO, Application, wave_of
from gpuc.diagnostics.finding import Path
from gpuc.diagnostics.place import place
from gpuc.manifest.manifest import Manifest
from gpuc.model.names import POOL_LABEL
from gpuc.objects.object_set import dig, group, grouped
from gpuc.plan.applications import changed_applications
from gpuc.plan.change import Change, Pair
from gpuc.plan.differences import differences
from gpuc.plan.immutable import refused_by_webhooks, refused_fields
from gpuc.plan.impact import Impacts, Level, Prediction, Raised, impact
from gpuc.plan.pruning import CLAIM, is_definition, kinds_text, moved_objects, removed_objects


@impact("IMP503", Level.NONE)
def objects_pruned(change: Change) -> Impacts:
    """Argo CD deletes objects that are removed from Git and that hold no data."""
    pruned = [removed for removed in removed_objects(change, "pruned") if not removed.has_data]
    for application, found in grouped(pruned, lambda removed: removed.application).items():
        manifests = [removed.manifest for removed in found]
        message = f"Argo CD deletes {kinds_text(manifests)}"
        predicts = tuple(Prediction(f"object {manifest}", "pruned") for manifest in manifests)
        yield Raised(f"Application {application}", message, manifests[0], (), (), predicts)


@impact("IMP502", Level.NONE)
def objects_left(change: Change) -> Impacts:
    """Objects are removed from Git, but Argo CD leaves them in the cluster."""
    groups = grouped(removed_objects(change, "left"), lambda removed: (removed.application, removed.reason))
    for (application, reason), found in groups.items():
        manifests = [removed.manifest for removed in found]
        stays = "stays" if len(found) == 1 else "stay"
        why = reason if len(found) == 1 else reason.replace("it has", "they have").replace("its ", "their ")
        message = f"{kinds_text(manifests)} {stays} in the cluster, because {why}"
        predicts = tuple(Prediction(f"object {removed.manifest}", "left") for removed in found if removed.is_certain)
        details = [f"to remove them after the sync: {'; '.join(_commands(manifests))}"]
        if any(map(is_definition, manifests)):
            details.append("the deletion of a CustomResourceDefinition deletes all objects of its kind")
        yield Raised(f"Application {application}", message, manifests[0], (), tuple(details), predicts)


def _commands(manifests: list[Manifest]) -> list[str]:
    """Returns the commands that delete the objects, one for each kind and namespace."""
    groups = grouped(manifests, lambda manifest: (manifest.kind.lower(), group(manifest), manifest.namespace))
    return [
        f"kubectl delete {'.'.join(filter(None, (kind, api_group)))}"
        f"{f' --namespace {namespace}' if namespace else ''} {' '.join(manifest.name for manifest in found)}"
        for (kind, api_group, namespace), found in groups.items()
    ]


@impact("IMP505", Level.RESTRICTS)
def prune_waits(change: Change) -> Impacts:
    """Argo CD asks for a confirmation before it deletes an object, and the sync waits."""
    for removed in removed_objects(change, "confirmed"):
        message = f"Argo CD asks whether to delete {removed.manifest}, and the sync waits for the answer"
        yield Raised(f"Application {removed.application}", message, removed.manifest)


_VOLUME = "its volume is deleted, unless the reclaim policy is Retain"


@impact("IMP504", Level.DESTROYS)
def data_pruned(change: Change) -> Impacts:
    """Argo CD deletes an object that holds data: a PersistentVolumeClaim or a stateful workload."""
    for removed in removed_objects(change, "pruned"):
        if removed.has_data:
            effect = _VOLUME if removed.manifest.kind == CLAIM[1] else "its pods end"
            message = f"Argo CD deletes {removed.manifest}: {effect}"
            predicts = (Prediction(f"object {removed.manifest}", "pruned"),)
            yield Raised(f"Application {removed.application}", message, removed.manifest, (), (), predicts)


@impact("IMP501", Level.DISRUPTS)
def immutable_field(change: Change) -> Impacts:
    """A field changes that the API server or a webhook does not allow to change, so an Application cannot be synced."""
    for pair in change.all_pairs:
        if pair.after is None:
            continue
        own, of_kueue = [Refused(*row) for row in refused_fields(pair)], refused_by_webhooks(change, pair)
        # A refusal that does not depend on running pods comes first.
        for path, reason, when in sorted([*own, *of_kueue], key=lambda row: bool(row.when))[:1]:
            by = "the API server" if own else "the webhook of Kueue"
            found = change.after.application_of(pair.after)
            failing = f", and {'then ' * bool(when)}the sync of Application {found.name} fails" if found else ""
            message = f"{by} refuses the change{f' {when}' * bool(when)}{failing}: {reason}"
            steps = _STEPS_OF_POOL if pair.manifest.kind == "NodePool" else _STEPS
            details = [f"two changes instead: {steps}"]
            details += [f"{f'{row.when}, '.lstrip(', ')}{row.reason}" for row in of_kueue if row.reason != reason]
            predicts = () if when else (Prediction(f"object {pair.after}", "refused"),)
            details += _blocked(change, pair, found) if found else ()
            yield Raised(_subject(pair), message, pair.after, path, tuple(details), predicts)


_STEPS = "first remove the object, then add it again; or one change that adds an object with another name"
_STEPS_OF_POOL = "first add a node pool with another name, and mark the old one as leaving; then remove the old one"


def _subject(pair: Pair) -> str:
    pool = dig(pair.manifest.body, "spec", "template", "metadata", "labels", POOL_LABEL)
    return f"node pool {pool}" if pool else str(pair.manifest)


def _blocked(change: Change, refused: Pair, found: Application) -> Iterator[str]:
    """Yields sentences about the changes that Argo CD does not make while the sync fails."""
    later = [
        pair.after
        for pair in change.all_pairs
        if pair.after
        and pair.fields
        and wave_of(pair.after) > wave_of(refused.manifest)
        and change.after.application_of(pair.after) == found
    ]
    if later:
        yield f"objects of the Application that are not applied either: {kinds_text(later)}"
    changed = [application for application in changed_applications(change) if application.wave > found.wave]
    pairs = ((other.name, change.pair(ARGO, "Application", other.name, other.manifest.namespace)) for other in changed)
    names = [name for name, pair in pairs if pair and pair.fields]
    if names:
        yield f"Applications that the root Application does not create or change until then: {', '.join(names)}"


@impact("IMP521", Level.DISRUPTS)
def object_created_again(change: Change) -> Impacts:
    """An object moves to another Application, so Argo CD deletes it and creates it again."""
    for moved in moved_objects(change):
        if not moved.reason:
            message = f"moves from Application {moved.old} to {moved.new}: Argo CD deletes it and creates it again"
            details = (
                "to keep it, set its annotation argocd.argoproj.io/sync-options to Prune=false in an earlier change, "
                "and remove its annotation argocd.argoproj.io/tracking-id in the cluster after this change",
            )
            yield Raised(str(moved.manifest), message, moved.manifest, (), details)


@impact("IMP522", Level.RESTRICTS)
def object_stays_with_application(change: Change) -> Impacts:
    """An object moves to another Application, whose sync fails, because the old Application keeps the object."""
    for moved in moved_objects(change):
        if moved.reason:
            message = (
                f"moves from Application {moved.old} to {moved.new}, whose sync fails, because the object in the "
                f"cluster belongs to {moved.old}: {moved.reason}"
            )
            manifest = moved.manifest
            place = f"--namespace {manifest.namespace} " if manifest.namespace else ""
            command = f"kubectl annotate {place}{manifest.kind.lower()} {manifest.name} argocd.argoproj.io/tracking-id-"
            yield Raised(str(manifest), message, manifest, (), (f"after the change: {command}",))


_SHOWN = 6
_COMMON = ("spec", "template")
"""The parts of the paths of pods that messages leave out."""


@impact("IMP529", Level.NONE)
def templates_change(change: Change) -> Impacts:
    """Workload templates change, but the copies that users made keep the old values."""
    fields: dict[tuple[str, ...], dict[str, None]] = defaultdict(dict)
    places: list[tuple[Manifest, Path]] = []
    for after, paths in _changed_templates(change):
        steps = ([step for step in path if isinstance(step, str) and step not in _COMMON] for path in paths)
        names = tuple(dict.fromkeys(place(tuple(path[:3])) for path in steps))
        fields[names][after.file.rsplit("/", 1)[-1].removesuffix(".yaml")] = None
        places.append((after, paths[0]))
    if places:
        pools = list(dict.fromkeys(name for names in fields.values() for name in names))
        verb = "changes" if len(pools) == 1 else "change"
        message = f"{', '.join(pools)} {verb}; copies of users keep the old values until users copy again"
        details = tuple(f"{', '.join(names)}: {', '.join(changed[:_SHOWN])}" for changed, names in fields.items())
        yield Raised("workload templates", message, *places[0], details)


def _changed_templates(change: Change) -> Iterator[tuple[Manifest, list[Path]]]:
    """Yields the templates of both states that differ, with the paths. Users choose the namespace themselves."""
    before = {(template.file, template.kind, template.name): template for template in change.before.templates}
    for after in change.after.templates:
        old = before.get((after.file, after.kind, after.name), after)
        fields = differences(old.document(), after.document()) if old is not after else ()
        if paths := [field.path for field in fields if field.path != ("metadata", "namespace")]:
            yield after, paths

from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import group
from gpuc.plan.change import Change, grouped
from gpuc.plan.impact import Impacts, Level, Prediction, Raised, impact
from gpuc.plan.pruning import is_definition, kinds_text, removed_objects


@impact(
    "IMP502",
    Level.NONE,
    source="argo-cd v3.5.1 docs/user-guide/sync-options.md; docs/user-guide/app_deletion.md; controller/state.go; "
    "reposerver/repository/repository.go, GenerateManifests: no tracking of CustomResourceDefinitions",
)
def objects_left(change: Change) -> Impacts:
    """Objects are removed from Git, and Argo CD leaves them in the cluster.

    The objects work as before, and no file describes them. To remove them, delete them with kubectl after the sync.
    """
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

from collections import defaultdict

from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import group
from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Prediction, Raised, impact
from gpuc.plan.pruning import is_definition
from gpuc.plan.removed_objects import RemovedObject, kinds_text, removed_objects


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
    groups: dict[tuple[str, str], list[RemovedObject]] = defaultdict(list)
    for one in removed_objects(change):
        if one.fate == "left":
            groups[one.application, one.reason].append(one)
    for (application, reason), found in groups.items():
        manifests = [one.manifest for one in found]
        stays = "stays" if len(found) == 1 else "stay"
        why = reason if len(found) == 1 else reason.replace("it has", "they have").replace("its ", "their ")
        message = f"{kinds_text(manifests)} {stays} in the cluster, because {why}"
        predicts = tuple(Prediction(f"object {one.manifest}", "left") for one in found if one.is_certain)
        details = [f"to remove them after the sync: {'; '.join(_commands(manifests))}"]
        if any(map(is_definition, manifests)):
            details.append("the deletion of a CustomResourceDefinition deletes all objects of its kind")
        yield Raised(f"Application {application}", message, manifests[0], (), tuple(details), predicts)


def _commands(manifests: list[Manifest]) -> list[str]:
    """Returns the commands that delete the objects, one for each kind and namespace."""
    names: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for manifest in manifests:
        names[manifest.kind.lower(), group(manifest), manifest.namespace].append(manifest.name)
    return [
        f"kubectl delete {'.'.join(filter(None, (kind, api_group)))}"
        f"{f' --namespace {namespace}' if namespace else ''} {' '.join(found)}"
        for (kind, api_group, namespace), found in names.items()
    ]

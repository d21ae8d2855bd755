from collections import defaultdict

from gpuc.manifest.manifest import Manifest
from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Prediction, Raised, impact
from gpuc.plan.removed_objects import kinds_text, removed_objects


@impact("IMP503", Level.NONE, source="argo-cd v3.5.1 docs/user-guide/auto_sync.md, Automatic Pruning")
def objects_pruned(change: Change) -> Impacts:
    """Argo CD deletes objects that are removed from Git and that hold no data.

    Deployments and Jobs are deleted with their pods.
    """
    groups: dict[str, list[Manifest]] = defaultdict(list)
    for one in removed_objects(change):
        if one.fate == "pruned" and not one.has_data:
            groups[one.application].append(one.manifest)
    for application, manifests in groups.items():
        message = f"Argo CD deletes {kinds_text(manifests)}"
        predicts = tuple(Prediction(f"object {manifest}", "pruned") for manifest in manifests)
        yield Raised(f"Application {application}", message, manifests[0], (), (), predicts)

from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Prediction, Raised, impact
from gpuc.plan.pruning import removed_objects

_LOST = {
    "PersistentVolumeClaim": "its volume is deleted, unless the reclaim policy is Retain",
    "StatefulSet": "its pods end",
}


@impact(
    "IMP504",
    Level.DESTROYS,
    source="argo-cd v3.5.1 docs/user-guide/auto_sync.md, Automatic Pruning; docs/user-guide/sync-options.md, No Prune "
    "Resources, Resource Pruning With Confirmation",
)
def data_pruned(change: Change) -> Impacts:
    """Argo CD deletes an object that holds data: a volume or a stateful program.

    The sync option Prune=false of the object prevents the deletion. With Prune=confirm, a person must confirm it first.
    """
    for removed in removed_objects(change, "pruned"):
        if removed.has_data:
            message = f"Argo CD deletes {removed.manifest}: {_LOST[removed.manifest.kind]}"
            predicts = (Prediction(f"object {removed.manifest}", "pruned"),)
            yield Raised(f"Application {removed.application}", message, removed.manifest, (), (), predicts)

from gpuc.plan.change import Change, grouped
from gpuc.plan.impact import Impacts, Level, Prediction, Raised, impact
from gpuc.plan.pruning import kinds_text, removed_objects


@impact("IMP503", Level.NONE, source="argo-cd v3.5.1 docs/user-guide/auto_sync.md, Automatic Pruning")
def objects_pruned(change: Change) -> Impacts:
    """Argo CD deletes objects that are removed from Git and that hold no data.

    Deployments and Jobs are deleted with their pods.
    """
    pruned = [removed for removed in removed_objects(change, "pruned") if not removed.has_data]
    for application, found in grouped(pruned, lambda removed: removed.application).items():
        manifests = [removed.manifest for removed in found]
        message = f"Argo CD deletes {kinds_text(manifests)}"
        predicts = tuple(Prediction(f"object {manifest}", "pruned") for manifest in manifests)
        yield Raised(f"Application {application}", message, manifests[0], (), (), predicts)

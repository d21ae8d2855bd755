from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Raised, impact
from gpuc.plan.pruning import moved_objects


@impact(
    "IMP521",
    Level.DISRUPTS,
    source="argo-cd v3.5.1 controller/sync.go, FailOnSharedResource; controller/state.go, CompareAppState",
)
def object_created_again(change: Change) -> Impacts:
    """An object moves to another Application, so Argo CD deletes it and creates it again.

    The new Application does not apply an object that belongs to another Application. The old Application prunes the
    object, with everything that the object owns. Then the new Application creates it.
    """
    for moved in moved_objects(change):
        if not moved.reason:
            message = f"moves from Application {moved.old} to {moved.new}: Argo CD deletes it and creates it again"
            details = (
                "to keep it, set its annotation argocd.argoproj.io/sync-options to Prune=false in an earlier change, "
                "and remove its annotation argocd.argoproj.io/tracking-id in the cluster after this change",
            )
            yield Raised(str(moved.manifest), message, moved.manifest, (), details)

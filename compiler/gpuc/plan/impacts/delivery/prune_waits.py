from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Raised, impact
from gpuc.plan.removed_objects import removed_objects


@impact(
    "IMP505", Level.RESTRICTS, source="argo-cd v3.5 docs/user-guide/sync-options.md, Resource Pruning With Confirmation"
)
def prune_waits(change: Change) -> Impacts:
    """Argo CD asks before it deletes an object.

    The sync of the Application stays in progress until a person confirms the deletion in Argo CD.
    """
    for one in removed_objects(change):
        if one.fate == "confirmed":
            message = f"Argo CD asks whether to delete {one.manifest}, and the sync waits for the answer"
            yield Raised(f"Application {one.application}", message, one.manifest)

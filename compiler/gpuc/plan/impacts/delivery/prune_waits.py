from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Raised, impact
from gpuc.plan.pruning import removed_objects


@impact(
    "IMP505", Level.RESTRICTS, source="argo-cd v3.5 docs/user-guide/sync-options.md, Resource Pruning With Confirmation"
)
def prune_waits(change: Change) -> Impacts:
    """Argo CD asks before it deletes an object.

    The sync of the Application stays in progress until a person confirms the deletion in Argo CD.
    """
    for removed in removed_objects(change, "confirmed"):
        message = f"Argo CD asks whether to delete {removed.manifest}, and the sync waits for the answer"
        yield Raised(f"Application {removed.application}", message, removed.manifest)

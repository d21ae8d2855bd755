from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Raised, impact


@impact("IMP508", Level.RESTRICTS, source="argo-cd v3.5 docs/user-guide/app_deletion.md")
def cluster_removed(change: Change) -> Impacts:
    """A cluster is removed from the fleet, and everything in the cluster stays.

    The root Application finds no folder any more, and its sync fails. Argo CD deletes nothing. Nodes run and cost until
    an administrator deletes the cluster.
    """
    if change.is_removed:
        message = (
            f"its {len(change.before.objects.manifests)} objects stay in the cluster; Argo CD syncs nothing any more"
        )
        details = (f"delete the root Application: kubectl delete application {change.before.name}-root",)
        yield Raised(f"cluster {change.before.name}", message, path=("spec",), details=details)

from gpuc.cluster.application import ARGO
from gpuc.plan.applications import cluster_name
from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Raised, impact


@impact(
    "IMP527",
    Level.RESTRICTS,
    source="argo-cd v3.5.1 docs/operator-manual/declarative-setup.md; docs/operator-manual/app-any-namespace.md; "
    "docs/user-guide/auto_sync.md, Automatic Pruning; docs/user-guide/app_deletion.md, About The Deletion Finalizer",
)
def argocd_moves(change: Change) -> Impacts:
    """The Applications move to another namespace, because Argo CD runs there.

    The Argo CD of the new namespace needs a root Application there. As long as the old root Application exists, and its
    AppProject permits the new namespace, the old Argo CD creates the Applications there and then deletes the old ones.
    The objects of the Applications stay in each case.
    """
    removed = {pair.name: pair.manifest.namespace for pair in change.pairs(ARGO, "Application") if pair.is_removed}
    moved = [pair for pair in change.pairs(ARGO, "Application") if pair.is_added and pair.name in removed]
    if not moved:
        return
    pair = moved[0]
    old, new, name = removed[pair.name], pair.manifest.namespace, cluster_name(change)
    message = (
        f"{len(moved)} Applications move from namespace {old} to {new}: an administrator deletes the root Application "
        f"in {old} before the merge, and applies the one in {new} after it; until then Argo CD creates no Application"
    )
    details = (
        f"before the merge: kubectl delete application {name}-root --namespace {old}, so that two installations of "
        "Argo CD do not work on the same Applications",
        f"after the merge: kubectl apply --filename out/{name}/apps/project.yaml --filename clusters/{name}/root.yaml",
        f"then delete the other Applications in namespace {old}; their objects stay",
    )
    yield Raised(f"cluster {name}", message, pair.after, ("metadata", "namespace"), details)

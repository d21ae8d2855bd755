from gpuc.cluster.application import ARGO
from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Raised, impact

_NOUNS = {"repoURL": "repository", "targetRevision": "revision", "server": "cluster of Argo CD"}


@impact("IMP507", Level.RESTRICTS, source="argo-cd v3.5.1 docs/operator-manual/cluster-bootstrapping.md")
def root_changes(change: Change) -> Impacts:
    """The root Application changes, which an administrator applies.

    Argo CD syncs the old root Application until an administrator applies clusters/CLUSTER/root.yaml. A change of the
    repository, the branch or the path has no effect before.
    """
    for pair in change.pairs(ARGO, "Application"):
        if pair.is_changed and pair.manifest.file.startswith("clusters/"):
            fields = dict.fromkeys(str(field.path[-1]) for field in pair.fields)
            names = ", ".join(_NOUNS.get(name, name) for name in fields)
            message = f"the change of {names} of the root Application has no effect until an administrator applies it"
            details = (f"after the merge: kubectl apply --server-side --filename {pair.manifest.file}",)
            yield Raised(f"Application {pair.name}", message, pair.after, pair.fields[0].path, details)

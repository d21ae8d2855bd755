from gpuc.diagnostics.words import kind_of
from gpuc.plan.change import Change, grouped
from gpuc.plan.impact import Impacts, Level, Prediction, Raised, impact
from gpuc.plan.tenant_changes import left, owner_of, workloads_in


@impact("IMP262", Level.DESTROYS, source="argo-cd v3.5.1 docs/user-guide/sync-options.md, No Prune Resources")
def namespace_deleted(change: Change) -> Impacts:
    """A namespace is removed, and Argo CD deletes it in the cluster.

    Kubernetes deletes all objects in the namespace: pods that run, jobs, Secrets, and PersistentVolumeClaims with their
    data, if the volumes are deleted together with their claims.
    """
    removed = [pair for pair in change.pairs("", "Namespace") if pair.is_removed and not left(change, [pair])]
    for owner, pairs in grouped(removed, lambda pair: owner_of(change, pair.name)).items():
        names = [pair.name for pair in pairs]
        message = f"Argo CD deletes {kind_of(names, 'namespace')}, with all pods and PersistentVolumeClaims"
        predicts = tuple(Prediction(f"workloads of namespace {name}", "evicted") for name in names)
        yield Raised(owner, message, pairs[0].before, (), tuple(workloads_in(change, pairs)), predicts)

from gpuc.diagnostics.words import kind_of
from gpuc.plan.change import Change, grouped
from gpuc.plan.impact import Impacts, Level, impact
from gpuc.plan.tenant_changes import has_left, left, owner_of, removal


@impact("IMP263", Level.RESTRICTS, source="argo-cd v3.5.1 docs/user-guide/sync-options.md, No Prune Resources")
def left_namespace_removed(change: Change) -> Impacts:
    """Namespaces are removed that have left in an earlier change, alone or with their tenant.

    Their queues admit no workloads already. Members lose their access. The namespaces stay in the cluster with the pods
    that run in them.
    """
    removed = left(change, [pair for pair in change.pairs("", "Namespace") if pair.is_removed])
    removed = [pair for pair in removed if has_left(change, [pair])]
    for owner, pairs in grouped(removed, lambda pair: owner_of(change, pair.name)).items():
        names = kind_of([pair.name for pair in pairs], "namespace")
        yield removal(change, pairs, owner, f"removal of {names}")

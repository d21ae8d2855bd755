from gpuc.plan.change import Change, Pair
from gpuc.plan.impact import Impacts, Level, Raised, impact
from gpuc.plan.namespace_removal import access_text, has_left, left, removal_details, removal_predictions, workloads_in
from gpuc.plan.tenant_changes import owner_of


@impact("IMP263", Level.RESTRICTS, source="argo-cd v3.5.1 docs/user-guide/sync-options.md, No Prune Resources")
def left_namespace_removed(change: Change) -> Impacts:
    """Namespaces are removed that have left in an earlier change, alone or with their tenant.

    Their queues admit no workloads already. Members lose their access. The namespaces stay in the cluster with the pods
    that run in them.
    """
    groups: dict[str, list[Pair]] = {}
    for pair in change.pairs("", "Namespace"):
        if pair.is_removed and left(change, [pair]) and has_left(change, [pair]):
            groups.setdefault(owner_of(change, pair.name), []).append(pair)
    for owner, pairs in groups.items():
        names = [pair.name for pair in pairs]
        kind = "namespace" if len(names) == 1 else "namespaces"
        message = f"removal of {kind} {', '.join(names)}: {access_text(change, pairs)}"
        details = (*removal_details(names), *workloads_in(change, pairs))
        yield Raised(owner, message, pairs[0].before, (), details, removal_predictions(change, pairs))

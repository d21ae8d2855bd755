from gpuc.plan.change import Change
from gpuc.plan.drift import KARPENTER
from gpuc.plan.impact import Impacts, Level, Raised, impact
from gpuc.plan.replacement import most_nodes, pool_name


@impact(
    "IMP102",
    Level.RESTRICTS,
    source="kubernetes-sigs/karpenter v1.14.1 pkg/controllers/provisioning/scheduling/scheduler.go, remainingResources",
)
def pool_shrinks(change: Change) -> Impacts:
    """The maximum number of nodes of a node pool shrinks.

    Karpenter compares the limit only when it starts a node. More nodes than the new limit stay until they are empty.
    """
    for pair in change.pairs(KARPENTER, "NodePool"):
        if pair.is_added or pair.is_removed or not pair.fields or pair.values("spec", "replicas")[1] is not None:
            continue
        before, after = (most_nodes(one.document()) if one else None for one in (pair.before, pair.after))
        if before is None or after is None or after >= before:
            continue
        message = (
            f"Karpenter starts nodes up to {after} instead of {before}; nodes above {after} stay until they are empty"
        )
        if not after:
            message = f"Karpenter starts no new node; up to {before} nodes stay until they are empty"
        yield Raised(f"node pool {pool_name(pair)}", message, pair.manifest, ("spec", "limits", "nodes"))

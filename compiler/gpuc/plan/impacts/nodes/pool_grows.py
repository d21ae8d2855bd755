from gpuc.plan.change import Change
from gpuc.plan.drift import KARPENTER
from gpuc.plan.impact import Impacts, Level, Raised, impact
from gpuc.plan.replacement import most_nodes, pool_name


@impact("IMP101", Level.NONE, source="kubernetes-sigs/karpenter v1.14.1 pkg/apis/v1/nodepool.go, Limits, Replicas")
def pool_grows(change: Change) -> Impacts:
    """The maximum number of nodes of a node pool grows.

    Karpenter starts more nodes when pods are pending; a static node pool starts them at once. Nodes that run are not
    disturbed.
    """
    for pair in change.pairs(KARPENTER, "NodePool"):
        if pair.is_added or pair.is_removed or not pair.fields:
            continue
        before, after = (most_nodes(one.document()) if one else None for one in (pair.before, pair.after))
        if before is not None and after is not None and after > before:
            field = "replicas" if pair.values("spec", "replicas")[1] is not None else "limits"
            verb = "Karpenter starts" if field == "replicas" else "Karpenter may start"
            message = f"{verb} {after} instead of {before} nodes"
            path = ("spec", field) if field == "replicas" else ("spec", "limits", "nodes")
            yield Raised(f"node pool {pool_name(pair)}", message, pair.manifest, path)

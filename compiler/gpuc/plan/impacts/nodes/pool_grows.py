from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Raised, impact


@impact("IMP101", Level.NONE, source="karpenter v1.14.0 pkg/apis/v1/nodepool.go, Limits")
def pool_grows(change: Change) -> Impacts:
    """The maximum number of nodes of a node pool grows.

    Karpenter starts more nodes when pods are pending. Nodes that run are not disturbed.
    """
    for pair in change.pairs("karpenter.sh", "NodePool"):
        before, after = (_nodes(value) for value in pair.values("spec", "limits", "nodes"))
        if before is not None and after is not None and after > before:
            message = f"grows from at most {before} to at most {after} nodes"
            yield Raised(f"node pool {pair.name}", message, pair.manifest, ("spec", "limits", "nodes"))


def _nodes(value: object) -> int | None:
    return int(value) if isinstance(value, str) and value.isdecimal() else None

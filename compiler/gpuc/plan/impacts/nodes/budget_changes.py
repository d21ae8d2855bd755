from gpuc.plan.change import Change
from gpuc.plan.drift import KARPENTER
from gpuc.plan.impact import Impacts, Level, Raised, impact
from gpuc.plan.replacement import pace, pool_name


@impact("IMP130", Level.NONE, source="kubernetes-sigs/karpenter v1.14.1 pkg/apis/v1/nodepool.go, Budget")
def budget_changes(change: Change) -> Impacts:
    """The budgets change within which Karpenter replaces nodes, or the hours in which Karpenter replaces none.

    The budgets apply from the sync on, also to nodes that have drifted before. The change itself replaces no node.
    """
    for pair in change.pairs(KARPENTER, "NodePool"):
        if pair.changes("spec", "disruption", "budgets"):
            message = f"drifted nodes are replaced {pace(pair, change.after.cluster)}"
            yield Raised(f"node pool {pool_name(pair)}", message, pair.after, ("spec", "disruption", "budgets"))

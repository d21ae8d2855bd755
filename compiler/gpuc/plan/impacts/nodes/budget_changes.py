from gpuc.kubernetes.api_groups import KARPENTER
from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Raised, impact
from gpuc.plan.replacement import BUDGETS, DRIFTED, EMPTY, closed_hours, is_closed, pace, pool_name


@impact(
    "IMP130",
    Level.NONE,
    source="kubernetes-sigs/karpenter v1.14.1 pkg/apis/v1/nodepool.go (Budget), "
    "pkg/controllers/disruption/emptiness.go",
)
def budget_changes(change: Change) -> Impacts:
    """The budgets change within which Karpenter replaces nodes, or the hours in which Karpenter replaces none.

    The budgets apply from the sync on, also to nodes that have drifted before. The change itself replaces no node. A
    budget of 0 without reasons also keeps empty nodes, which cost.
    """
    for pair in change.pairs(KARPENTER, "NodePool"):
        if not pair.changes(*BUDGETS):
            continue
        before, after = pair.values(*BUDGETS)
        if is_closed(after, DRIFTED):
            message = "no drifted node is replaced while the budget is 0"
        else:
            is_opened = closed_hours(before) and not closed_hours(after)
            hours = ", also in working hours from now on" if is_opened else ""
            message = f"drifted nodes are replaced {pace(pair, change.after.cluster)}{hours}"
        details = ("empty nodes stay too, and cost",) if is_closed(after, EMPTY) else ()
        yield Raised(f"node pool {pool_name(pair)}", message, pair.after, BUDGETS, details)

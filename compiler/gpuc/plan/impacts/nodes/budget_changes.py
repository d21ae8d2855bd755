from gpuc.cluster.pool_fields import BUDGETS
from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Raised, impact
from gpuc.plan.replacement import DRIFTED, EMPTY, closed_hours, is_closed, pace


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
    for pair in change.pools:
        if not pair.changes(*BUDGETS):
            continue
        if is_closed(pair.new, DRIFTED):
            message = "no drifted node is replaced while the budget is 0"
        else:
            is_opened = closed_hours(pair.old) and not closed_hours(pair.new)
            hours = ", also in working hours from now on" if is_opened else ""
            message = f"drifted nodes are replaced {pace(pair, change.after.cluster)}{hours}"
        details = ("empty nodes stay too, and cost",) if is_closed(pair.new, EMPTY) else ()
        yield Raised(f"node pool {pair.pool}", message, pair.after, BUDGETS, details)

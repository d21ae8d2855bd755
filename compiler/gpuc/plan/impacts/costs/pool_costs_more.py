from gpuc.plan.change import Change
from gpuc.plan.cost_changes import always_text, pool_changes
from gpuc.plan.impact import Impacts, Level, Raised, impact


@impact("IMP701", Level.COSTS, source="AWS Pricing Calculator, assumptions: a month has 730 hours")
def pool_costs_more(change: Change) -> Impacts:
    """A node pool costs more at its maximum number of nodes.

    Karpenter starts the nodes only for pending pods, so this is the upper bound. Of several instance types and
    purchase options, the most expensive one counts. Spot capacity without a price counts as on-demand capacity.
    """
    for one in pool_changes(change):
        if one.is_priced and one.monthly_usd > 0:
            details = always_text(change.after.cluster, one.name)
            yield Raised(f"node pool {one.name}", one.figures, path=one.path, details=details)

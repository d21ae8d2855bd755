from gpuc.plan.change import Change
from gpuc.plan.cost_changes import pool_changes
from gpuc.plan.impact import Impacts, Level, Raised, impact


@impact("IMP704", Level.NONE, source="AWS Pricing Calculator, assumptions: a month has 730 hours")
def pool_costs_less(change: Change) -> Impacts:
    """A node pool costs less at its maximum number of nodes.

    The difference is money only if the nodes ran until now.
    """
    for one in pool_changes(change):
        if one.is_priced and one.monthly_usd < 0:
            yield Raised(f"node pool {one.name}", one.figures, path=one.path)

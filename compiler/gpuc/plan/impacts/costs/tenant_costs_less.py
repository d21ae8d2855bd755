from gpuc.plan.change import Change
from gpuc.plan.cost_changes import tenant_changes
from gpuc.plan.impact import Impacts, Level, Raised, impact


@impact("IMP705", Level.NONE, source="AWS Pricing Calculator, assumptions: a month has 730 hours")
def tenant_costs_less(change: Change) -> Impacts:
    """The quota of a tenant costs less if the tenant uses all of it.

    The difference is money only if the tenant used the quota until now.
    """
    for one in tenant_changes(change):
        if one.is_priced and one.monthly_usd < 0:
            yield Raised(f"tenant {one.name}", f"the quota costs {one.figures}", path=one.path)

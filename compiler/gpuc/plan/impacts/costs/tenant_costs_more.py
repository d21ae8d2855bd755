from gpuc.plan.change import Change
from gpuc.plan.cost_changes import tenant_changes
from gpuc.plan.impact import Impacts, Level, Raised, impact


@impact("IMP702", Level.COSTS, source="AWS Pricing Calculator, assumptions: a month has 730 hours")
def tenant_costs_more(change: Change) -> Impacts:
    """The quota of a tenant costs more if the tenant uses all of it.

    Each node in the quota counts with the most expensive instance type and purchase option of its pool. Tenants of one
    queue share its quota, so the queue counts for each of them.
    """
    for one in tenant_changes(change):
        if one.is_priced and one.monthly_usd > 0:
            yield Raised(f"tenant {one.name}", f"the quota costs {one.figures}", path=one.path)

from gpuc.plan.change import Change
from gpuc.plan.cost_changes import tenant_changes
from gpuc.plan.impact import Impacts, Level, Raised, impact


@impact(
    "IMP702",
    Level.COSTS,
    source="AWS Pricing Calculator, assumptions; Amazon EC2 User Guide, Capacity Reservation pricing and billing",
)
def tenant_costs_more(change: Change) -> Impacts:
    """The quota of a tenant costs more if the tenant uses all of it.

    These are the costs of the instances, without volumes and traffic, in a month of 730 hours. Each node in the quota
    counts with the most expensive instance type and purchase option of its pool. Tenants of one queue share its quota,
    so the queue counts for each of them. Reserved capacity costs the same without nodes.
    """
    for one in tenant_changes(change):
        if one.is_priced and one.monthly_usd > 0:
            message = f"the quota costs {one.figures}"
            yield Raised(f"tenant {one.name}", message, path=one.path, details=one.reserved_text)

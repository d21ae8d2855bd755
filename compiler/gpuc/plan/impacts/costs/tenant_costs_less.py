from gpuc.plan.change import Change
from gpuc.plan.cost_changes import cost_impacts
from gpuc.plan.impact import Impacts, Level, impact


@impact(
    "IMP705",
    Level.NONE,
    source="AWS Pricing Calculator, assumptions; Amazon EC2 User Guide, Capacity Reservation pricing and billing",
)
def tenant_costs_less(change: Change) -> Impacts:
    """The quota of a tenant costs less if all of it is used.

    These are the costs of the instances, without volumes and traffic, in a month of 730 hours. The difference is money
    only if the quota was used until now. Reserved capacity costs the same without nodes until the reservation
    ends.
    """
    yield from cost_impacts(change, "tenants", -1)

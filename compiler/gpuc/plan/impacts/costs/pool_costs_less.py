from gpuc.plan.change import Change
from gpuc.plan.cost_changes import described_pool_changes
from gpuc.plan.impact import Impacts, Level, Raised, impact


@impact(
    "IMP704",
    Level.NONE,
    source="AWS Pricing Calculator, assumptions; Amazon EC2 User Guide, Capacity Reservation pricing and billing",
)
def pool_costs_less(change: Change) -> Impacts:
    """A node pool costs less, at its maximum number of nodes or for nodes that always run.

    These are the costs of the instances, without volumes and traffic, in a month of 730 hours. The difference at the
    maximum is money only if the nodes ran until now. Reserved capacity costs the same without nodes until the
    reservation ends.
    """
    for what, one in described_pool_changes(change):
        if one.is_priced and one.monthly_usd < 0:
            message = f"{what} {one.figures}"
            yield Raised(f"node pool {one.name}", message, path=one.path, details=one.reserved_text)

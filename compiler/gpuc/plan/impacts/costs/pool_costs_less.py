from gpuc.plan.change import Change
from gpuc.plan.cost_changes import cost_impacts
from gpuc.plan.impact import Impacts, Level, impact


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
    yield from cost_impacts(change, "pools", -1)

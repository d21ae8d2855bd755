from gpuc.plan.change import Change
from gpuc.plan.cost_changes import cost_impacts
from gpuc.plan.impact import Impacts, Level, impact


@impact(
    "IMP701",
    Level.COSTS,
    source="AWS Pricing Calculator, assumptions; Amazon EC2 User Guide, Capacity Reservation pricing and billing",
)
def pool_costs_more(change: Change) -> Impacts:
    """A node pool costs more, at its maximum number of nodes or for nodes that always run.

    These are the costs of the instances, without volumes and traffic, in a month of 730 hours. Karpenter starts the
    nodes that always run at once, and other nodes only for pending pods. Reserved capacity costs the same without
    nodes. While Karpenter replaces nodes, a pool can have more nodes than its maximum for a time. Of several instance
    types and purchase options, the most expensive one counts. Spot capacity without a price counts as on-demand
    capacity.
    """
    yield from cost_impacts(change, "pools", 1)

from gpuc.plan.change import Change
from gpuc.plan.cost_changes import cost_impacts
from gpuc.plan.impact import Impacts, Level, impact


@impact(
    "IMP702",
    Level.COSTS,
    source="AWS Pricing Calculator, assumptions; Amazon EC2 User Guide, Capacity Reservation pricing and billing",
)
def tenant_costs_more(change: Change) -> Impacts:
    """The quota of a tenant costs more if all of it is used.

    These are the costs of the instances, without volumes and traffic, in a month of 730 hours. The costs of a node pool
    at its maximum are divided evenly over its nodes, so that the tenants together cost at most as much as the pool. A
    larger pool can therefore change the costs of the same quota, for example if only some of its nodes are reserved.
    Tenants of one queue have equal parts of its quota. Reserved capacity costs the same without nodes.
    """
    yield from cost_impacts(change, "tenants", 1)

"""Impacts on the costs of node pools and tenants."""

from gpuc.plan.change import Change
from gpuc.plan.cost_changes import cost_impacts, described_changes
from gpuc.plan.impact import Impacts, Level, Raised, impact


@impact("IMP701", Level.COSTS)
def pool_costs_more(change: Change) -> Impacts:
    """A node pool costs more, either for its maximum number of nodes or for the nodes that always run."""
    yield from cost_impacts(change, "pools", 1)


@impact("IMP704", Level.NONE)
def pool_costs_less(change: Change) -> Impacts:
    """A node pool costs less, either for its maximum number of nodes or for the nodes that always run."""
    yield from cost_impacts(change, "pools", -1)


@impact("IMP702", Level.COSTS)
def tenant_costs_more(change: Change) -> Impacts:
    """A tenant that uses its complete quota costs more."""
    yield from cost_impacts(change, "tenants", 1)


@impact("IMP705", Level.NONE)
def tenant_costs_less(change: Change) -> Impacts:
    """A tenant that uses its complete quota costs less."""
    yield from cost_impacts(change, "tenants", -1)


@impact("IMP703", Level.COSTS)
def price_missing(change: Change) -> Impacts:
    """The costs of a node pool change, but the difference is unknown, because the catalog lacks a price."""
    costs = {cost.name: cost for _, cost in described_changes(change) if cost.missing}
    for name, cost in costs.items():
        message = f"the costs change, but specs/catalog/ has no price of {'; '.join(cost.missing)}"
        yield Raised(f"node pool {name}", message, path=cost.path)

"""Impacts on costs of node pools and tenants."""

from functools import partial

from gpuc.plan.change import Change
from gpuc.plan.cost_changes import cost_impacts, described_changes
from gpuc.plan.impact import Impacts, Level, Raised, impact

_priced = partial(
    impact,
    source="AWS Pricing Calculator, assumptions; Amazon EC2 User Guide, Capacity Reservation pricing and billing",
)


@_priced("IMP701", Level.COSTS)
def pool_costs_more(change: Change) -> Impacts:
    """A node pool costs more, at its maximum number of nodes or for nodes that always run.

    These are the costs of the instances, without volumes and traffic, in a month of 730 hours. Nodes that always run
    start at once, and other nodes only for pending pods. Reserved capacity costs the same without nodes. While nodes
    are replaced, a pool can have more nodes than its maximum for a time. Of several instance types and purchase
    options, the most expensive one counts. Spot capacity without a price counts as on-demand capacity.
    """
    yield from cost_impacts(change, "pools", 1)


@_priced("IMP704", Level.NONE)
def pool_costs_less(change: Change) -> Impacts:
    """A node pool costs less, at its maximum number of nodes or for nodes that always run.

    These are the costs of the instances, without volumes and traffic, in a month of 730 hours. The difference at the
    maximum is money only if the nodes ran until now. Reserved capacity costs the same without nodes until the
    reservation ends.
    """
    yield from cost_impacts(change, "pools", -1)


@_priced("IMP702", Level.COSTS)
def tenant_costs_more(change: Change) -> Impacts:
    """The quota of a tenant costs more if all of it is used.

    These are the costs of the instances, without volumes and traffic, in a month of 730 hours. The costs of a node pool
    at its maximum are divided evenly over its nodes, so that the tenants together cost at most as much as the pool. A
    larger pool can therefore change the costs of the same quota, for example if only some of its nodes are reserved.
    Tenants of one queue have equal parts of its quota. Reserved capacity costs the same without nodes.
    """
    yield from cost_impacts(change, "tenants", 1)


@_priced("IMP705", Level.NONE)
def tenant_costs_less(change: Change) -> Impacts:
    """The quota of a tenant costs less if all of it is used.

    These are the costs of the instances, without volumes and traffic, in a month of 730 hours. The difference is money
    only if the quota was used until now. Reserved capacity costs the same without nodes until the reservation
    ends.
    """
    yield from cost_impacts(change, "tenants", -1)


@impact("IMP703", Level.COSTS)
def price_missing(change: Change) -> Impacts:
    """The costs of a node pool change, and the catalog lacks a price.

    gpuc has on-demand prices of us-east-1. For reserved capacity and for other regions, write a row in specs/catalog/,
    or import a price list with `gpuc catalog import`, whose --help has the command.

    Source: aws/karpenter-provider-aws main at 6fc13b523 (2026-07-20)
    pkg/providers/pricing/zz_generated.pricing_aws.go
    """
    costs = {cost.name: cost for _, cost in described_changes(change) if cost.missing}
    for name, cost in costs.items():
        message = f"the costs change, but specs/catalog/ has no price of {'; '.join(cost.missing)}"
        yield Raised(f"node pool {name}", message, path=cost.path)

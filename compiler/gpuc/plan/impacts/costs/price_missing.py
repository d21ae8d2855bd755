from gpuc.plan.change import Change
from gpuc.plan.cost_changes import described_changes
from gpuc.plan.impact import Impacts, Level, Raised, impact


@impact(
    "IMP703",
    Level.COSTS,
    source="aws/karpenter-provider-aws main at 6fc13b523 (2026-07-20) "
    "pkg/providers/pricing/zz_generated.pricing_aws.go",
)
def price_missing(change: Change) -> Impacts:
    """The costs of a node pool change, and the catalog lacks a price.

    gpuc has on-demand prices of us-east-1. For reserved capacity and for other regions, write a row in specs/catalog/,
    or import the output of `aws pricing get-products` with `gpuc catalog import`.
    """
    costs = {cost.name: cost for _, cost in described_changes(change) if cost.missing}
    for name, cost in costs.items():
        message = f"the costs change, but specs/catalog/ has no price of {'; '.join(cost.missing)}"
        yield Raised(f"node pool {name}", message, path=cost.path)

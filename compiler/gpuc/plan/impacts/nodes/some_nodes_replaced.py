from gpuc.plan.change import Change
from gpuc.plan.drift import drifts
from gpuc.plan.impact import Impacts, Level, Raised, impact
from gpuc.plan.replacement import details, pace, pool_name


@impact(
    "IMP111",
    Level.DISRUPTS,
    source="kubernetes-sigs/karpenter v1.14.1 pkg/controllers/nodeclaim/disruption/drift.go (areRequirementsDrifted); "
    "aws/karpenter-provider-aws v1.14.1 pkg/cloudprovider/drift.go",
)
def some_nodes_replaced(change: Change) -> Impacts:
    """Karpenter replaces the nodes of a node pool that do not meet the new requirements.

    A node keeps the instance type, zone, purchase option, subnet and reservation with which it started. Karpenter
    compares them with the new requirements. Other nodes stay.
    """
    for drift in drifts(change):
        if drift.some_nodes and not drift.all_nodes:
            first, cluster = drift.some_nodes[0], change.after.cluster
            reasons = ", ".join(reason.words for reason in drift.some_nodes)
            message = f"nodes that no longer match are replaced, {pace(drift.pair, cluster)}: {reasons}"
            sentences = tuple(details(drift.pair, cluster))
            yield Raised(f"node pool {pool_name(drift.pair)}", message, first.manifest, first.path, sentences)

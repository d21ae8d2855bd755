from gpuc.plan.change import Change
from gpuc.plan.drift import Scope, drifts
from gpuc.plan.impact import Impacts, Level, Prediction, Raised, impact
from gpuc.plan.replacement import details, replaced_words


@impact(
    "IMP111",
    Level.DISRUPTS,
    source="kubernetes-sigs/karpenter v1.14.1 pkg/controllers/nodeclaim/disruption/drift.go (areRequirementsDrifted); "
    "aws/karpenter-provider-aws v1.14.1 pkg/cloudprovider/drift.go, "
    "pkg/controllers/capacityreservation/capacitytype/controller.go (syncCapacityType)",
)
def some_nodes_replaced(change: Change) -> Impacts:
    """Karpenter replaces the nodes of a node pool that do not meet the new requirements.

    A node keeps the instance type, zone, purchase option, subnet and reservation with which it started, with one
    exception: if its reservation ends, a reserved node becomes an on-demand node. Karpenter compares these properties
    with the new requirements. Other nodes stay.
    """
    for drift in drifts(change, Scope.SOME):
        first = drift.reasons[0]
        reasons = ", ".join(reason.words for reason in drift.reasons)
        nodes = "nodes that no longer match"
        message = f"{replaced_words(nodes, drift.pairs, change.after.cluster, drift.misfits)}: {reasons}"
        predicts = (Prediction(f"nodes of pool {drift.name}", "perhaps replaced"),)
        sentences = tuple(details(drift.pairs, change, drift.misfits))
        yield Raised(f"node pool {drift.name}", message, first.manifest, first.path, sentences, predicts)

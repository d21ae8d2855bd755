from gpuc.plan.change import Change
from gpuc.plan.drift import Scope
from gpuc.plan.impact import Impacts, Level, impact
from gpuc.plan.replaced_nodes import replaced_impacts


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
    yield from replaced_impacts(change, Scope.SOME, "perhaps replaced")

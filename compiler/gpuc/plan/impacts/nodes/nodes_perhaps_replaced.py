from gpuc.plan.change import Change
from gpuc.plan.drift import Scope
from gpuc.plan.impact import Impacts, Level, impact
from gpuc.plan.replaced_nodes import replaced_impacts


@impact(
    "IMP112",
    Level.DISRUPTS,
    source="kubernetes-sigs/karpenter v1.14.1 pkg/controllers/nodeclaim/disruption/drift.go (areRequirementsDrifted); "
    "aws/karpenter-provider-aws v1.14.1 pkg/cloudprovider/drift.go",
)
def nodes_perhaps_replaced(change: Change) -> Impacts:
    """Karpenter replaces nodes if other resources of AWS match a new selector.

    gpuc cannot know which images, subnets and security groups have the tags, or which nodes have a label. If other
    resources match than until now, the nodes drift.
    """
    for raised in replaced_impacts(change, Scope.UNKNOWN, "perhaps replaced"):
        yield raised._replace(details=("gpuc cannot compute which nodes match", *raised.details))

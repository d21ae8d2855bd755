from gpuc.plan.change import Change
from gpuc.plan.drift import Scope, drifts
from gpuc.plan.impact import Impacts, Level, Prediction, Raised, impact
from gpuc.plan.replacement import details, replaced_words


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
    for drift in drifts(change, Scope.UNKNOWN):
        first = drift.reasons[0]
        reasons = ", ".join(reason.words for reason in drift.reasons)
        nodes = "nodes that no longer match"
        message = f"{replaced_words(nodes, drift.pairs, change.after.cluster, drift.misfits)}: {reasons}"
        predicts = (Prediction(f"nodes of pool {drift.name}", "perhaps replaced"),)
        sentences = ("gpuc cannot compute which nodes match", *details(drift.pairs, change, drift.misfits))
        yield Raised(f"node pool {drift.name}", message, first.manifest, first.path, sentences, predicts)

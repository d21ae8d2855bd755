from gpuc.plan.change import Change
from gpuc.plan.drift import Scope, drifts
from gpuc.plan.impact import Impacts, Level, Prediction, Raised, impact
from gpuc.plan.replacement import details, replaced_words


@impact(
    "IMP110",
    Level.DISRUPTS,
    source="kubernetes-sigs/karpenter v1.14.1 pkg/controllers/nodeclaim/disruption/drift.go, "
    "pkg/controllers/disruption/staticdrift.go; aws/karpenter-provider-aws v1.14.1 pkg/cloudprovider/drift.go",
)
def nodes_replaced(change: Change) -> Impacts:
    """Karpenter replaces all nodes of a node pool.

    The hash of the NodePool or of the EC2NodeClass changes, or no node meets the requirements or has the image any
    more. Karpenter marks the nodes as drifted, and replaces them within the budgets. The nodes of a static pool drift
    without a replacement if its limit leaves no place for the new node.
    """
    for drift in drifts(change, Scope.ALL):
        first = drift.reasons[0]
        reasons = ", ".join(reason.words for reason in drift.reasons)
        message = f"{replaced_words(drift.pairs, change.after.cluster)}: {reasons}"
        predicts = (Prediction(f"nodes of pool {drift.name}", "replaced"),)
        sentences = tuple(details(drift.pairs, change))
        yield Raised(f"node pool {drift.name}", message, first.manifest, first.path, sentences, predicts)

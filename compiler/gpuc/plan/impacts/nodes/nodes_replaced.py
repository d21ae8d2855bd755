from gpuc.plan.change import Change
from gpuc.plan.drift import drifts
from gpuc.plan.impact import Impacts, Level, Prediction, Raised, impact
from gpuc.plan.replacement import details, most_nodes, nodes_text, pace, pool_name


@impact(
    "IMP110",
    Level.DISRUPTS,
    source="kubernetes-sigs/karpenter v1.14.1 pkg/controllers/nodeclaim/disruption/drift.go; "
    "aws/karpenter-provider-aws v1.14.1 pkg/cloudprovider/drift.go",
)
def nodes_replaced(change: Change) -> Impacts:
    """Karpenter replaces all nodes of a node pool.

    The hash of the NodePool or of the EC2NodeClass changes, or no node meets the requirements or has the image any
    more. Karpenter marks the nodes as drifted, and replaces them within the budgets.
    """
    for drift in drifts(change):
        if drift.all_nodes and drift.pair.before:
            name = pool_name(drift.pair)
            first, cluster = drift.all_nodes[0], change.after.cluster
            reasons = ", ".join(dict.fromkeys(reason.words for reason in drift.all_nodes))
            count = nodes_text(most_nodes(drift.pair.before.document()))
            message = f"{count} are replaced, {pace(drift.pair, cluster)}: {reasons}"
            predicts = (Prediction(f"nodes of pool {name}", "replaced"),)
            sentences = tuple(details(drift.pair, cluster))
            yield Raised(f"node pool {name}", message, first.manifest, first.path, sentences, predicts)

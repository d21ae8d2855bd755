from gpuc.plan.change import Change
from gpuc.plan.drift import Scope
from gpuc.plan.impact import Impacts, Level, impact
from gpuc.plan.replaced_nodes import replaced_impacts


@impact(
    "IMP110",
    Level.DISRUPTS,
    source="kubernetes-sigs/karpenter v1.14.1 pkg/controllers/nodeclaim/disruption/drift.go, "
    "pkg/controllers/disruption/drift.go, staticdrift.go, helpers.go (SimulateScheduling); "
    "aws/karpenter-provider-aws v1.14.1 pkg/cloudprovider/drift.go",
)
def nodes_replaced(change: Change) -> Impacts:
    """Karpenter replaces all nodes of a node pool.

    The hash of the NodePool or of the EC2NodeClass changes, or no node meets the requirements or has the image any
    more. Karpenter marks the nodes as drifted, and replaces them within the budgets. The new node starts first, so the
    limits must leave a place for it beside the other nodes. A node with pods that do not fit the new nodes, for example
    because they do not tolerate a new taint, stays until its pods change; a static pool replaces it all the same. The
    nodes of a static pool drift without a replacement if its limit leaves no place for the new node.
    """
    yield from replaced_impacts(change, Scope.ALL, "replaced")

from gpuc.cluster.pool_fields import CONSOLIDATION
from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Raised, impact


@impact(
    "IMP131",
    Level.DISRUPTS,
    source="kubernetes-sigs/karpenter v1.14.1 pkg/controllers/disruption/consolidation.go, pkg/apis/v1/nodepool.go "
    "(Replicas)",
)
def consolidation_changes(change: Change) -> Impacts:
    """Karpenter also removes nodes of a node pool with running pods, to use fewer or cheaper nodes.

    With WhenEmpty, Karpenter removes only empty nodes. With other policies, Karpenter evicts pods that fit on other
    nodes, except pods with karpenter.sh/do-not-disrupt. Karpenter does not consolidate a static NodePool.
    """
    for pair in change.pools:
        before, after = pair.values(*CONSOLIDATION)
        if pair.is_changed and before == "WhenEmpty" and after != before and not pair.is_static:
            message = f"Karpenter moves pods to use fewer nodes (consolidation {after} instead of {before})"
            yield Raised(f"node pool {pair.pool}", message, pair.after, CONSOLIDATION)

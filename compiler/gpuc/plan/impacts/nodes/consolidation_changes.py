from gpuc.kubernetes.api_groups import KARPENTER
from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Raised, impact
from gpuc.plan.replacement import is_static, pool_name


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
    for pair in change.pairs(KARPENTER, "NodePool"):
        before, after = pair.values("spec", "disruption", "consolidationPolicy")
        if pair.is_changed and before == "WhenEmpty" and after != before and not is_static(pair):
            message = f"Karpenter moves pods to use fewer nodes (consolidation {after} instead of {before})"
            path = ("spec", "disruption", "consolidationPolicy")
            yield Raised(f"node pool {pool_name(pair)}", message, pair.after, path)

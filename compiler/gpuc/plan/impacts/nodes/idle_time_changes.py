from gpuc.kubernetes.api_groups import KARPENTER
from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Raised, impact
from gpuc.plan.replacement import is_static, pool_name


@impact("IMP132", Level.NONE, source="kubernetes-sigs/karpenter v1.14.1 pkg/apis/v1/nodepool.go, ConsolidateAfter")
def idle_time_changes(change: Change) -> Impacts:
    """Empty nodes of a node pool end after another time.

    A longer time costs idle nodes. A shorter time makes the next workload wait for a new node. Nodes of a static
    NodePool stay when they are empty.
    """
    for pair in change.pairs(KARPENTER, "NodePool"):
        before, after = pair.values("spec", "disruption", "consolidateAfter")
        if pair.is_changed and before != after and not is_static(pair):
            message = f"empty nodes end after {after} instead of {before}"
            path = ("spec", "disruption", "consolidateAfter")
            yield Raised(f"node pool {pool_name(pair)}", message, pair.after, path)

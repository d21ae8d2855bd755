from gpuc.cluster.pool_fields import IDLE_TIME
from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Raised, impact


@impact("IMP132", Level.NONE, source="kubernetes-sigs/karpenter v1.14.1 pkg/apis/v1/nodepool.go, ConsolidateAfter")
def idle_time_changes(change: Change) -> Impacts:
    """Empty nodes of a node pool end after another time.

    A longer time costs idle nodes. A shorter time makes the next workload wait for a new node. Nodes of a static
    NodePool stay when they are empty.
    """
    for pair in change.pools:
        before, after = pair.values(*IDLE_TIME)
        if pair.is_changed and before != after and not pair.is_static:
            message = f"empty nodes end after {after} instead of {before}"
            yield Raised(f"node pool {pair.pool}", message, pair.after, IDLE_TIME)

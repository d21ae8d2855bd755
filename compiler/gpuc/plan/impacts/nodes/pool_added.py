from gpuc.kubernetes.node_pool import INSTANCE_TYPE
from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Raised, impact
from gpuc.plan.replacement import nodes_text


@impact("IMP104", Level.NONE, source="kubernetes-sigs/karpenter v1.14.1 pkg/apis/v1/nodepool.go")
def pool_added(change: Change) -> Impacts:
    """A node pool is new.

    Karpenter starts nodes when pods are pending that select the pool; the nodes of a static pool start at once.
    """
    if change.is_new:
        return
    names = {pair.pool for pair in change.pools if not pair.is_added}
    for pair in change.pools:
        name = pair.pool
        if not pair.is_added or pair.new is None or name in names:
            continue
        types = [value for row in pair.new.requirements if row.key == INSTANCE_TYPE for value in row.values]
        starts = "starts at once" if pair.is_static else "may start"
        message = f"new: Karpenter {starts} {nodes_text(pair.new.most_nodes)} of {', '.join(types) or 'any type'}"
        yield Raised(f"node pool {name}", message, pair.manifest)

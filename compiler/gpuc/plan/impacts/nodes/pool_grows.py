from gpuc.cluster.pool_fields import LIMITS, NODES, REPLICAS
from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Raised, impact
from gpuc.plan.pool_sizes import pool_sizes


@impact("IMP101", Level.NONE, source="kubernetes-sigs/karpenter v1.14.1 pkg/apis/v1/nodepool.go, Limits, Replicas")
def pool_grows(change: Change) -> Impacts:
    """The maximum number of nodes of a node pool grows.

    Karpenter starts more nodes when pods are pending; a static node pool starts them at once. Nodes that run are not
    disturbed.
    """
    for size in pool_sizes(change):
        if size.after > size.before:
            verb = "Karpenter starts" if size.is_static else "Karpenter may start"
            message = f"{verb} up to {size.after} instead of {size.before} nodes"
            pair, path = size.changed(REPLICAS, (*LIMITS, NODES))
            yield Raised(f"node pool {size.name}", message, pair.manifest, path)

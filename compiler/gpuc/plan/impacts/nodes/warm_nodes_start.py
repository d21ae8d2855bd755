from gpuc.cluster.pool_fields import REPLICAS
from gpuc.diagnostics.words import counted
from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Raised, impact
from gpuc.plan.pool_sizes import pool_sizes


@impact(
    "IMP107", Level.NONE, source="kubernetes-sigs/karpenter v1.14.1 pkg/controllers/static/provisioning/controller.go"
)
def warm_nodes_start(change: Change) -> Impacts:
    """More nodes of a node pool always run.

    Karpenter starts the nodes at once, without a pending pod, and does not remove them when they are empty.
    """
    for size in pool_sizes(change):
        count = size.running_after - size.running_before
        if count > 0:
            more = f"{size.running_after} instead of {size.running_before} nodes always run"
            message = f"Karpenter starts {counted(count, 'node')} at once; {more}"
            pair, path = size.changed(REPLICAS)
            yield Raised(f"node pool {size.name}", message, pair.manifest, path)

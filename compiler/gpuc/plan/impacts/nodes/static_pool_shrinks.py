from gpuc.cluster.pool_fields import REPLICAS
from gpuc.diagnostics.words import counted
from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Prediction, Raised, impact
from gpuc.plan.pool_sizes import PoolSize, pool_sizes
from gpuc.plan.pruning import is_left


@impact(
    "IMP103",
    Level.DISRUPTS,
    source="kubernetes-sigs/karpenter v1.14.1 pkg/controllers/static/deprovisioning/controller.go, "
    "pkg/controllers/provisioning/scheduling/nodeclaimtemplate.go (OwnerReferences)",
)
def static_pool_shrinks(change: Change) -> Impacts:
    """A static node pool gets fewer nodes, or fewer of its nodes always run.

    Karpenter deletes the surplus nodes at once, empty nodes first, and drains their pods. Budgets do not apply. A
    NodePool of warm nodes that Argo CD prunes takes its nodes along.
    """
    for size in pool_sizes(change):
        count = size.running_before - size.running_after
        if count <= 0 or _stays(change, size):
            continue
        nodes = counted(count, "node")
        message = f"Karpenter deletes {nodes} of {size.running_before} that always run, and drains their pods"
        details = ("nodes without pods come first; budgets and working hours do not apply",)
        predicts = (Prediction(f"nodes of pool {size.name}", "removed"),)
        pair, path = size.changed(REPLICAS)
        yield Raised(f"node pool {size.name}", message, pair.manifest, path, details, predicts)


def _stays(change: Change, size: PoolSize) -> bool:
    """Returns whether Argo CD leaves the removed NodePool of the warm nodes in the cluster."""
    return any(pair.is_removed and is_left(change, pair.manifest) for pair in size.pairs)

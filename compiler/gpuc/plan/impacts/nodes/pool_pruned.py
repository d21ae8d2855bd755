from gpuc.plan.change import Change
from gpuc.plan.drift import KARPENTER
from gpuc.plan.impact import Impacts, Level, Prediction, Raised, impact
from gpuc.plan.pruning import is_left
from gpuc.plan.replacement import most_nodes, nodes_text, pool_name


@impact(
    "IMP106",
    Level.DESTROYS,
    source="kubernetes-sigs/karpenter v1.14.1 pkg/controllers/nodeclaim/lifecycle/controller.go (finalize)",
)
def pool_pruned(change: Change) -> Impacts:
    """Argo CD prunes a NodePool, and Karpenter deletes its nodes.

    The NodeClaims of a NodePool are deleted with the NodePool. Karpenter drains the nodes and ends the instances,
    without regard to budgets and working hours. A pool that was marked as leaving has no new nodes since then.
    """
    for pair in change.pairs(KARPENTER, "NodePool"):
        if pair.is_removed and not is_left(pair.manifest):
            name = pool_name(pair)
            most = most_nodes(pair.manifest.document())
            count = nodes_text(most) if most else "the nodes that still run"
            message = f"Argo CD prunes NodePool {pair.name}: Karpenter drains and ends {count}"
            predicts = (Prediction(f"object NodePool {pair.name}", "pruned"),)
            yield Raised(f"node pool {name}", message, pair.manifest, (), (), predicts)

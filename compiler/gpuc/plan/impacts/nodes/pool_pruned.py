from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Prediction, Raised, impact
from gpuc.plan.pruning import is_left
from gpuc.plan.replacement import nodes_text


@impact(
    "IMP106",
    Level.DESTROYS,
    source="kubernetes-sigs/karpenter v1.14.1 pkg/controllers/provisioning/scheduling/nodeclaimtemplate.go "
    "(OwnerReferences), pkg/controllers/node/termination/terminator/terminator.go (Drain)",
)
def pool_pruned(change: Change) -> Impacts:
    """Argo CD prunes the NodePool of a removed pool, and Karpenter deletes its nodes.

    The NodeClaims of a NodePool are deleted with the NodePool. Karpenter drains the nodes and ends the instances,
    without regard to budgets and working hours. A pool that was marked as leaving has no new nodes since then.
    """
    present = {pair.pool for pair in change.pools if not pair.is_removed}
    for pair in change.pools:
        name = pair.pool
        if pair.old is None or not pair.is_removed or is_left(change, pair.manifest) or name in present:
            continue
        count = nodes_text(pair.old.most_nodes)
        message = f"Argo CD prunes NodePool {pair.name}: Karpenter drains and ends {count}"
        end = f"after at most {pair.old.grace}" if pair.old.grace else "when they have finished"
        details = (f"budgets and working hours do not apply; pods with karpenter.sh/do-not-disrupt end {end}",)
        removed = Prediction(f"nodes of pool {name}", "removed")
        predicts = (Prediction(f"object NodePool {pair.name}", "pruned"), removed)
        yield Raised(f"node pool {name}", message, pair.manifest, (), details, predicts)

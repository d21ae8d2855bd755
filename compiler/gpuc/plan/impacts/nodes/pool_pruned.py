from gpuc.kubernetes.api_groups import KARPENTER
from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Prediction, Raised, impact
from gpuc.plan.pruning import is_left
from gpuc.plan.replacement import GRACE, most_nodes, nodes_text, pool_name


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
    present = {pool_name(pair) for pair in change.pairs(KARPENTER, "NodePool") if not pair.is_removed}
    for pair in change.pairs(KARPENTER, "NodePool"):
        name = pool_name(pair)
        if not pair.is_removed or is_left(change, pair.manifest) or name in present:
            continue
        count = nodes_text(most_nodes(pair.manifest.document()))
        message = f"Argo CD prunes NodePool {pair.name}: Karpenter drains and ends {count}"
        grace = pair.values(*GRACE)[0]
        end = f"after at most {grace}" if isinstance(grace, str) else "when they have finished"
        details = (f"budgets and working hours do not apply; pods with karpenter.sh/do-not-disrupt end {end}",)
        removed = Prediction(f"nodes of pool {name}", "removed")
        predicts = (Prediction(f"object NodePool {pair.name}", "pruned"), removed)
        yield Raised(f"node pool {name}", message, pair.manifest, (), details, predicts)

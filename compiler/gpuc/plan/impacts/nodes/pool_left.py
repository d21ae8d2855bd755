from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Prediction, Raised, impact
from gpuc.plan.pruning import is_left
from gpuc.plan.replacement import nodes_text


@impact("IMP105", Level.RESTRICTS, source="argo-cd v3.5 docs/user-guide/sync-options.md, No Prune Resources")
def pool_left(change: Change) -> Impacts:
    """A node pool is removed from the spec, and its objects stay in the cluster.

    Argo CD does not prune the NodePool. Karpenter keeps its nodes and starts new ones, and no file describes the pool.
    """
    for pair in change.pools:
        if pair.old and pair.is_removed and is_left(change, pair.manifest):
            name = pair.pool
            most = pair.old.most_nodes
            fate = nodes_text(most) + (", and Karpenter starts new nodes" if most != 0 else "")
            message = f"is no longer described, but NodePool {pair.name} stays with {fate}"
            details = [f"to end the pool, delete it after the sync: kubectl delete nodepool {pair.name}"]
            if added := sorted({other.pool for other in change.pools if other.is_added} - {name}):
                details.append(
                    f"if node pool {' or '.join(added)} is the new name of the pool: both pools exist until then, "
                    "and no node moves"
                )
            predicts = (Prediction(f"object NodePool {pair.name}", "left"),)
            yield Raised(f"node pool {name}", message, pair.manifest, (), tuple(details), predicts)

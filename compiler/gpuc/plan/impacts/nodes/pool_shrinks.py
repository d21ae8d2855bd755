from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Raised, impact
from gpuc.plan.pool_sizes import pool_sizes


@impact(
    "IMP102",
    Level.RESTRICTS,
    source="kubernetes-sigs/karpenter v1.14.1 pkg/controllers/provisioning/scheduling/scheduler.go "
    "(remainingResources), pkg/controllers/static/provisioning/controller.go",
)
def pool_shrinks(change: Change) -> Impacts:
    """The maximum number of nodes of a node pool shrinks.

    Karpenter compares the limit only when it starts a node. More nodes than the new limit stay until they are empty.
    A static pool with the limit 0 keeps its nodes, and gets no node for a node that ends. Static nodes that Karpenter
    deletes are another impact.
    """
    for size in pool_sizes(change):
        deleted = max(size.running_before - size.running_after, 0)
        if size.before - size.after <= deleted:
            continue
        stays = "stay until they are empty"
        if size.after:
            message = f"Karpenter starts nodes up to {size.after} instead of {size.before}; nodes above that {stays}"
        else:
            stays = "stay, and Karpenter replaces none that ends or drifts" if size.running_after else stays
            message = f"Karpenter starts no new node; up to {size.before} nodes {stays}"
        pair, path = size.changed(("spec", "limits", "nodes"), ("spec", "replicas"))
        yield Raised(f"node pool {size.name}", message, pair.manifest, path)

from gpuc.cluster.pool_fields import LIMITS, NODES, REPLICAS
from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Raised, impact
from gpuc.plan.pool_sizes import pool_sizes
from gpuc.plan.replacement import smaller_limits


@impact(
    "IMP102",
    Level.RESTRICTS,
    source="kubernetes-sigs/karpenter v1.14.1 pkg/controllers/provisioning/scheduling/scheduler.go "
    "(remainingResources), pkg/controllers/static/provisioning/controller.go",
)
def pool_shrinks(change: Change) -> Impacts:
    """The maximum number of nodes of a node pool shrinks, or the maximum of another resource, for example its CPUs.

    The maximum numbers of CPUs and GPUs follow from the number of nodes and the largest instance type. Karpenter
    compares the limits only when it starts a node. Nodes above a new limit stay until they are empty. A static pool
    with the limit 0 keeps its nodes, and gets no node for a node that ends. Static nodes that Karpenter deletes are
    another impact.
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
        pair, path = size.changed((*LIMITS, NODES), REPLICAS)
        yield Raised(f"node pool {size.name}", message, pair.manifest, path)
    for pair in change.pools:
        smaller = smaller_limits(pair)
        if pair.is_changed and smaller and NODES not in smaller:
            texts = " and ".join(f"{name} {after} instead of {before}" for name, (before, after) in smaller.items())
            message = f"Karpenter starts nodes up to the limit {texts}; nodes above that stay until they are empty"
            path = (*LIMITS, next(iter(smaller)))
            yield Raised(f"node pool {pair.pool}", message, pair.after, path)

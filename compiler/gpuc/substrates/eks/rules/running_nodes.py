"""Rules about nodes that always run: static nodes, and the minimum number of nodes of a pool."""

from gpuc.diagnostics.finding import Related, Severity
from gpuc.model import Cluster, Pool
from gpuc.rules import Findings, Found, pool_rule, rule
from gpuc.substrates.eks.scaling import eks


@pool_rule("KRP112", Severity.WARNING)
def idle_after_on_static_nodes(pool: Pool) -> Findings:
    """A static node pool sets `idleAfter`, although Karpenter never removes its empty nodes."""
    if pool.is_static and eks(pool).spec.idle_after is not None:
        message = f"idleAfter has no effect, because node pool {pool.name} is static"
        fix = f"remove idleAfter from node pool {pool.name}"
        related = [Related("the number of nodes is static", (*pool.path, "nodes", "static"))]
        yield Found((*eks(pool).path, "idleAfter"), message, fix, related)


@rule("KRP149")
def name_of_warm_nodes(cluster: Cluster) -> Findings:
    """A node pool has the name of the NodePool that gpuc creates for `nodes.min` of another node pool."""
    names = {eks(pool).warm_node_pool: pool.name for pool in cluster.pools if pool.warm_nodes}
    for pool in cluster.pools:
        if owner := names.get(pool.name):
            message = f"node pool {pool.name} has the name of the NodePool for nodes.min of node pool {owner}"
            related = [Related(f"node pool {owner} has nodes.min", ("spec", "pools", owner, "nodes", "min"))]
            yield Found(pool.path, f"{message}; expected another name", related=related, on_key=True)


@pool_rule("KRP122", Severity.WARNING)
def static_pool_without_spare_node(pool: Pool) -> Findings:
    """A static node pool has only reserved capacity, and no reserved instance is left to replace a node."""
    reservations = eks(pool).spec.reservations
    if pool.is_static and reservations and not eks(pool).can_start_spare_node:
        expected = f"expected instances: {pool.nodes_max + 1} or more"
        if reservations.instances is None:
            message = f"reservations.instances of node pool {pool.name} is missing; {expected}"
            yield Found((*eks(pool).path, "reservations"), message)
        elif reservations.instances == pool.nodes_max:
            actual = f"node pool {pool.name} has {pool.nodes_max} static nodes"
            message = f"{actual}, and its reservations have {reservations.instances} instances; {expected}"
            related = [Related(f"{pool.nodes_max} static nodes", (*pool.path, "nodes", "static"))]
            yield Found((*eks(pool).path, "reservations", "instances"), message, related=related)


@pool_rule("KRP108", Severity.WARNING)
def static_spot(pool: Pool) -> Findings:
    """Nodes that always run are spot instances."""
    is_only_spot = set(eks(pool).spec.purchase) == {"spot"}
    if (pool.is_static and "spot" in eks(pool).spec.purchase) or (pool.warm_nodes and is_only_spot):
        path = (*eks(pool).path, "purchase", eks(pool).spec.purchase.index("spot"))
        actual = "is static" if pool.is_static else f"has nodes.min {pool.warm_nodes}"
        message = f"node pool {pool.name} {actual}, but buys spot capacity; expected on-demand or reserved"
        nodes = (*pool.path, "nodes", "static" if pool.is_static else "min")
        yield Found(path, message, related=[Related("the nodes that always run", nodes)])

"""Impacts of a change on node pools and on the number of their nodes."""

from gpuc.cluster.pool_fields import LIMITS, NODES, REPLICAS, REQUIREMENTS, TEMPLATE
from gpuc.diagnostics.words import counted
from gpuc.kubernetes.node_pool import CAPACITY_TYPE, INSTANCE_TYPE, is_restricted, is_well_known
from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Prediction, impact
from gpuc.plan.pool_sizes import nodes_text, pool_sizes
from gpuc.plan.pruning import is_left
from gpuc.substrates.eks.replacement import protected_pods_end, smaller_limits


@impact("IMP104", Level.NONE)
def pool_added(change: Change) -> Impacts:
    """The spec has a new node pool."""
    names = {pair.element for pair in change.pools if not pair.is_added}
    for pair in change.pools:
        if change.is_new or not pair.is_added or pair.new is None or pair.element in names:
            continue
        types = [value for row in pair.new.requirements if row.key == INSTANCE_TYPE for value in row.values]
        starts = "starts at once" if pair.is_static else "may start"
        nodes = f"{nodes_text(pair.new.most_nodes)} of {', '.join(types) or 'any type'}"
        yield pair.raised(f"new: Karpenter {starts} {nodes}")


@impact("IMP105", Level.RESTRICTS)
def pool_left(change: Change) -> Impacts:
    """A node pool is removed from the spec, and its objects stay in the cluster."""
    for pair in change.pools:
        if pair.old and pair.is_removed and is_left(change, pair.manifest):
            most = pair.old.most_nodes
            fate = nodes_text(most) + (", and Karpenter starts new nodes" if most != 0 else "")
            details = [f"to end the pool, delete it after the sync: kubectl delete nodepool {pair.name}"]
            if added := sorted({other.element for other in change.pools if other.is_added} - {pair.element}):
                details.append(
                    f"if node pool {' or '.join(added)} is the new name of the pool: both pools exist until then, "
                    "and no node moves"
                )
            predicts = (Prediction(f"object NodePool {pair.name}", "left"),)
            message = f"is no longer described, but NodePool {pair.name} stays with {fate}"
            yield pair.raised(message, (), details, predicts)


@impact("IMP106", Level.DESTROYS)
def pool_pruned(change: Change) -> Impacts:
    """Argo CD prunes the NodePool of a removed pool, and Karpenter deletes its nodes."""
    present = {pair.element for pair in change.pools if not pair.is_removed}
    for pair in change.pools:
        if pair.old is None or not pair.is_removed or is_left(change, pair.manifest) or pair.element in present:
            continue
        message = f"Argo CD prunes NodePool {pair.name}: Karpenter drains and ends {nodes_text(pair.old.most_nodes)}"
        details = (f"budgets and working hours do not apply; {protected_pods_end(pair.old)}",)
        removed = Prediction(f"nodes of pool {pair.element}", "removed")
        yield pair.raised(message, (), details, (Prediction(f"object NodePool {pair.name}", "pruned"), removed))


@impact("IMP101", Level.NONE)
def pool_grows(change: Change) -> Impacts:
    """The maximum number of nodes of a node pool grows."""
    for size in pool_sizes(change):
        if size.after > size.before:
            verb = "Karpenter starts" if size.is_static else "Karpenter may start"
            message = f"{verb} up to {size.after} instead of {size.before} nodes"
            yield size.raised(message, REPLICAS, (*LIMITS, NODES))


@impact("IMP102", Level.RESTRICTS)
def pool_shrinks(change: Change) -> Impacts:
    """The maximum number of nodes of a node pool shrinks, or the maximum of a resource, for example of CPUs."""
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
        yield size.raised(message, (*LIMITS, NODES), REPLICAS)
    for pair in change.pools:
        smaller = smaller_limits(pair)
        if pair.is_changed and smaller and NODES not in smaller:
            texts = " and ".join(f"{name} {after} instead of {before}" for name, (before, after) in smaller.items())
            message = f"Karpenter starts nodes up to the limit {texts}; nodes above that stay until they are empty"
            yield pair.raised(message, (*LIMITS, next(iter(smaller))))
        node_class = change.pair(*pair.new.node_class) if pair.old and pair.new and pair.new.node_class else None
        if node_class and node_class.is_removed and not is_left(change, node_class.manifest):
            message = f"{node_class.manifest} is removed: Karpenter starts no new node, and nodes that run stay"
            yield pair.raised(message, (*TEMPLATE, "spec", "nodeClassRef"))


@impact("IMP103", Level.DISRUPTS)
def static_pool_shrinks(change: Change) -> Impacts:
    """A static node pool gets fewer nodes, or a node pool gets a smaller number of nodes that always run."""
    for size in pool_sizes(change):
        count = size.running_before - size.running_after
        # Argo CD can leave the removed NodePool of the warm nodes in the cluster.
        if count > 0 and not any(pair.is_removed and is_left(change, pair.manifest) for pair in size.pairs):
            nodes = f"{counted(count, 'node')} of {size.running_before} that always run"
            details = ("nodes without pods come first; budgets and working hours do not apply",)
            predicts = (Prediction(f"nodes of pool {size.name}", "removed"),)
            message = f"Karpenter deletes {nodes}, and drains their pods"
            yield size.raised(message, REPLICAS, details=details, predicts=predicts)


@impact("IMP107", Level.NONE)
def warm_nodes_start(change: Change) -> Impacts:
    """A node pool gets a larger number of nodes that always run."""
    for size in pool_sizes(change):
        count = (running := min(size.running_after, size.after)) - size.running_before
        if count > 0:
            limit = ", because the limit allows no more" if running < size.running_after else ""
            more = f"{running} instead of {size.running_before} nodes always run{limit}"
            message = f"Karpenter starts {counted(count, 'node')} at once; {more}"
            yield size.raised(message, REPLICAS)


@impact("IMP108", Level.RESTRICTS)
def on_demand_removed(change: Change) -> Impacts:
    """A node pool no longer starts on-demand nodes, or nodes with a label that its requirements set."""
    for pair in change.pools:
        was, is_now = (pool.offer if pool else {} for pool in (pair.old, pair.new))
        for key in sorted(was.keys() & pair.requirements[0].keys() - is_now.keys()):
            if pair.new and not (was[key].absent or is_well_known(key) or is_restricted(key)):
                yield pair.raised(f"new nodes have no label {key}: pods that select it wait", REQUIREMENTS)
        old, new = (by_key.get(CAPACITY_TYPE) for by_key in pair.requirements)
        before, after = old and old.allowed, new and new.allowed
        if new and before and after and "on-demand" in before - after:
            message = f"nodes start only with purchase {', '.join(sorted(after))}: without such capacity, pods wait"
            yield pair.raised(message, (*REQUIREMENTS, new.position, "values"))

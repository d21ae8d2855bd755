from collections.abc import Iterator

from gpuc.kubernetes.amounts import rounded
from gpuc.kubernetes.kueue import GROUP
from gpuc.kubernetes.quota import Key
from gpuc.plan.change import Change, Pair
from gpuc.plan.impact import Impacts, Level, Prediction, Raised, impact
from gpuc.plan.quota_changes import common_flavors, flavor_text, pool_cause, pool_of, queue_name, quota_changes, tree
from gpuc.trace.quota import Node


@impact(
    "IMP208", Level.RESTRICTS, source="kueue v0.19.2 pkg/scheduler/flavorassigner/flavorassigner.go, fitsResourceQuota"
)
def node_resources_shrink(change: Change) -> Impacts:
    """The quotas on a node pool have less of a resource, although the spec sets the same number of nodes.

    gpuc computes the quotas from the resources that a node has for workloads. A DaemonSet with larger requests, another
    instance type and settings of the node change these resources. Workloads that request a complete node do not fit any
    more.
    """
    if not any(pair.is_changed for pair in change.pairs(GROUP, "ClusterQueue")):
        return
    nodes = tree(change.before), tree(change.after)
    counted = {(one.pair.name, one.flavor) for one in quota_changes(change)}
    found: dict[str, list[tuple[Pair, list[Key]]]] = {}
    for pair, flavor in common_flavors(change):
        old, new = (states[pair.name].quotas for states in nodes)
        keys = [key for key in new if key[0] == flavor and key in old and 0 < new[key].nominal < old[key].nominal]
        if keys and (pair.name, flavor) not in counted:
            found.setdefault(flavor, []).append((pair, keys))
    for flavor, rows in found.items():
        pair, keys = rows[0]
        totals = [{name: states[pair.name].quotas[flavor, name].nominal for _, name in keys} for states in nodes]
        message = f"a node has less {' and '.join(_texts(change, flavor, *totals))} for workloads"
        details = ("the quotas in nodes stay the same", "pods that request a complete node do not fit any more")
        cause = pool_cause(change, flavor)
        manifest, path = (None, cause) if cause else (pair.after, (*nodes[1][pair.name].path(keys[0]), "nominalQuota"))
        predicts = tuple(Prediction(f"workloads of queue {queue}", "waiting") for queue in _waiting(rows, *nodes))
        yield Raised(flavor_text(change, flavor), message, manifest, path, details, predicts)


def _waiting(rows: list[tuple[Pair, list[Key]]], before: dict[str, Node], after: dict[str, Node]) -> dict[str, None]:
    """Returns the queues that cannot start the same workloads again, if all queues are full.

    A queue that may borrow can take quota of another queue of its cohort, so that only one queue of a cohort waits: the
    queue with the largest quota needs the most.
    """
    largest: dict[tuple[bool, str], tuple[int, str]] = {}
    found: dict[str, None] = {}
    for pair, keys in rows:
        old, new = before[pair.name], after[pair.name]
        if any(new.capacity(key) < old.quotas[key].nominal for key in keys):
            found[queue_name(pair)] = None
        *_, top = new.to_root
        root = top.is_queue, top.name
        size = new.quotas[keys[0]].nominal
        if size > largest.get(root, (0, ""))[0]:
            largest[root] = size, queue_name(pair)
    return found | {name: None for _, name in largest.values()}


def _texts(change: Change, flavor: str, old: dict[str, int], new: dict[str, int]) -> Iterator[str]:
    """Yields the resources that shrink, for one node; without a spec, for the quota of one queue."""
    pools = [pool_of(state.cluster, flavor) for state in (change.before, change.after)]
    for name in new:
        first, second = (
            pool.node.get(name, 0) if pool and all(pools) else totals[name]
            for pool, totals in zip(pools, (old, new), strict=True)
        )
        yield f"{name} ({rounded(name, second).split(' ')[0]} instead of {rounded(name, first).split(' ')[0]})"

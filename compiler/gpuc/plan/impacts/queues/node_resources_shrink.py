from collections.abc import Iterator

from gpuc.cluster.queue import Member
from gpuc.kubernetes.amounts import rounded
from gpuc.kubernetes.kueue import GROUP
from gpuc.kubernetes.quota import Key
from gpuc.plan.change import Change, Pair
from gpuc.plan.impact import Impacts, Level, Prediction, Raised, impact
from gpuc.plan.quota_changes import common_flavors, flavor_text, pool_cause, queue_name, quota_changes, tree
from gpuc.plan.replacement import pool_of


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
    counted = {(quota.pair.name, quota.flavor) for quota in quota_changes(change)}
    found: dict[str, list[tuple[Pair, list[Key]]]] = {}
    for pair, flavor in common_flavors(change):
        old, new = (states[pair.name].quotas for states in nodes)
        keys = [key for key in new if key[0] == flavor and key in old and new[key].nominal < old[key].nominal]
        is_open = any(quota.nominal for key, quota in new.items() if key[0] == flavor)
        if keys and is_open and (pair.name, flavor) not in counted:
            found.setdefault(flavor, []).append((pair, keys))
    for flavor, rows in found.items():
        pair, keys = rows[0]
        totals = [{name: states[pair.name].quotas[flavor, name].nominal for _, name in keys} for states in nodes]
        message = f"a node has less {' and '.join(_texts(change, flavor, *totals))} for workloads"
        details = ("the quotas in nodes stay the same", "pods that request a complete node do not fit any more")
        cause = pool_cause(change, flavor)
        manifest, path = (None, cause) if cause else (pair.after, (*nodes[1][pair.name].path(keys[0]), "nominalQuota"))
        waits = {queue_name(pair): _waiting(nodes[1][pair.name], keys) for pair, keys in rows}
        predicts = tuple(Prediction(f"workloads of queue {name}", outcome) for name, outcome in waits.items())
        yield Raised(flavor_text(change, flavor), message, manifest, path, details, predicts)


def _waiting(queue: Member, keys: list[Key]) -> str:
    """Returns the outcome for the workloads of a full queue: other queues may lend what a node has less."""
    borrows = any(queue.capacity(key) > queue.quotas[key].nominal for key in keys)
    return "perhaps waiting" if borrows else "waiting"


def _texts(change: Change, flavor: str, old: dict[str, int], new: dict[str, int]) -> Iterator[str]:
    """Yields the resources that shrink, for one node; without a spec, for the quota of one queue."""
    pools = [pool_of(state.cluster, flavor) for state in (change.before, change.after)]
    for name in new:
        first, second = (
            pool.node.get(name, 0) if pool and all(pools) else totals[name]
            for pool, totals in zip(pools, (old, new), strict=True)
        )
        yield f"{name} ({rounded(name, second).split(' ')[0]} instead of {rounded(name, first).split(' ')[0]})"

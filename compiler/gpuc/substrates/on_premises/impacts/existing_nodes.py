"""Impacts of a change on existing nodes: their pools, labels, taints and MIG layouts."""

from collections.abc import Callable, Iterator
from typing import Any

from gpuc.diagnostics.finding import Path
from gpuc.diagnostics.words import counted, kind_of
from gpuc.kubernetes.kueue import LEVEL_LABELS
from gpuc.model.names import DRIVER_LABEL, POOL_LABEL
from gpuc.objects.object_set import dig, items, labels
from gpuc.plan.change import Change, Pair
from gpuc.plan.impact import Impacts, Level, Raised, impact
from gpuc.plan.pool_sizes import pool_of
from gpuc.plan.pruning import is_left
from gpuc.plan.quantities import sharing_path
from gpuc.substrates.on_premises.reader import node_names
from gpuc.substrates.on_premises.section import SECTIONS

_RULE: Path = ("spec", "rules", 0)
_NAMES: Path = (*_RULE, "matchFeatures", 0, "matchExpressions", "nodename", "value")
_NEW_LAYOUT = (
    "quotas have the new layout at once",
    "for one node after the other: kubectl drain NODE --ignore-daemonsets, then kubectl delete pod --namespace "
    "gpu-operator --selector app=nvidia-mig-manager --field-selector spec.nodeName=NODE, then kubectl uncordon NODE",
)
_NO_LAYOUT = (
    "before the merge, drain the nodes: kubectl drain NODE --ignore-daemonsets",
    "if no pool has MIG slices any more, the GPU Operator deletes the MIG manager: run nvidia-smi -mig 0 on each node",
)
_STAY = "pods that run stay, except where a new taint has the effect NoExecute"


def _rules(change: Change) -> Iterator[Pair]:
    """Yields the NodeFeatureRule of each pool before and after the change."""
    for pair in change.pairs("nfd.k8s-sigs.io", "NodeFeatureRule"):
        if dig(pair.manifest.body, *_RULE, "labels", POOL_LABEL) is not None:
            yield pair


def _names(pair: Pair) -> tuple[list[str], list[str]]:
    """Returns the names of the nodes of a rule before and after the change."""
    old, new = (node_names(dig(state.body, *_RULE)) if state else [] for state in (pair.before, pair.after))
    return old, new


def _raised(pair: Pair, message: str, path: Path, details: tuple[str, ...]) -> Raised:
    return Raised(f"node pool {pair.name}", message, pair.manifest, path, details)


@impact("IMP114", Level.DISRUPTS)
def nodes_leave(change: Change) -> Impacts:
    """A node leaves a pool of existing nodes, or moves to another pool."""
    homes = {name: pair.name for pair in _rules(change) for name in _names(pair)[1]}
    for pair in _rules(change):
        old, new = _names(pair)
        gone = [name for name in old if name not in new] if pair.after else []
        for home in dict.fromkeys(homes.get(name, "") for name in gone):
            nodes = [name for name in gone if homes.get(name, "") == home]
            words = kind_of(nodes, "node")
            if home:
                message = f"{words} moves to node pool {home}: labels and taints change under running pods"
            else:
                message = f"{words} leaves the pool, and loses its labels and taints: any pod can start there"
            drain = f"before the merge, drain the node: kubectl drain {nodes[0]} --ignore-daemonsets"
            yield _raised(pair, message, _NAMES, (_STAY, drain))


@impact("IMP115", Level.NONE)
def nodes_join(change: Change) -> Impacts:
    """A pool of existing nodes gets a node."""
    before = {name for pair in _rules(change) for name in _names(pair)[0]}
    for pair in _rules(change):
        old, new = _names(pair)
        nodes = [name for name in new if name not in old and name not in before]
        if nodes and not change.is_new:
            message = f"{kind_of(nodes, 'node')} gets the labels and taints of the pool"
            details = (_STAY, f"before the merge, see that the node is Ready: kubectl get node {nodes[0]}")
            yield _raised(pair, message, _NAMES, details)


@impact("IMP116", Level.DISRUPTS)
def existing_pool_removed(change: Change) -> Impacts:
    """A pool of existing nodes is removed."""
    for pair in _rules(change) if not change.is_removed else ():
        if not pair.is_removed:
            continue
        nodes = counted(len(_names(pair)[0]), "node")
        if is_left(change, pair.manifest):
            message = f"{nodes} keep the labels and taints of the pool, because its NodeFeatureRule stays"
            details = (f"after the sync, to free the nodes: kubectl delete nodefeaturerule {pair.name}",)
        else:
            message = f"{nodes} lose the labels and taints of the pool: any pod can start there"
            details = (_STAY,)
        yield _raised(pair, message, (), details)


@impact("IMP117", Level.RESTRICTS)
def nodes_are_relabelled(change: Change) -> Impacts:
    """The labels or taints of a pool of existing nodes change."""
    for pair in _rules(change):
        for key in ("labels", "taints") if pair.is_changed else ():
            path = (*_RULE, key)
            if not any(field.is_below(*path[:2]) and key in field.path for field in pair.fields):
                continue
            old, new = pair.values(*path)
            if key == "labels" and labels(old) | {DRIVER_LABEL: "false"} == labels(new):
                continue  # IMP129
            nodes = counted(len(_names(pair)[1]), "node")
            added = [row for row in new or [] if row not in (old or [])] if key == "taints" else []
            evicting = any(dig(row, "effect") == "NoExecute" for row in added)
            effect = ", and pods without a toleration for a taint with NoExecute end" if evicting else ""
            message = f"the {key} of {nodes} change within a minute{effect or '; pods that run stay'}"
            pool = pool_of(change.after.cluster, pair.name)
            if pool is None:
                yield _raised(pair, message, path, ())
                continue
            below = change.changed_paths(*pool.path, "nodeLabels" if key == "labels" else key)
            yield Raised(f"node pool {pair.name}", message, path=next(iter(below), sharing_path(change, pool)))


@impact("IMP129", Level.DISRUPTS)
def driver_pods_leave(change: Change) -> Impacts:
    """The GPU Operator no longer installs the driver on some existing nodes, and deletes their driver pods."""
    cluster = change.after.cluster
    if cluster is None or all(pool.image.driver == "image" for pool in cluster.gpu_pools):
        return  # IMP143
    for pair in _rules(change):
        old, new = (pool_of(state.cluster, pair.name) for state in (change.before, change.after))
        if old and new and new.is_gpu and (old.image.driver, new.image.driver) == ("operator", "image"):
            nodes = counted(len(_names(pair)[1]), "node")
            message = f"the GPU Operator deletes the driver pods of {nodes} at once"
            details = ("before the merge, drain the nodes; after it, install the driver of the operating system",)
            yield _placed(change, pair, message, ("gpuDriver",), details)


def _by_rule(pair: Pair, of: Callable[[Any], Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Returns the labels and taints that the later rules of an object give to nodes, before and after the change.

    The key is the name of the node.
    """
    states = []
    for state in (pair.before, pair.after):
        rules = [rule for number, rule in items(dig(state.body, "spec", "rules")) if number] if state else []
        given = [(str(name), of(rule)) for rule in rules for name in node_names(rule)]
        states.append({name: value for name, value in given if value})
    return states[0], states[1]


@impact("IMP124", Level.RESTRICTS)
def nodes_excluded(change: Change) -> Impacts:
    """A node of a pool is excluded: it takes no new pods, and no quota counts the node."""
    for pair in _rules(change):
        old, new = _by_rule(pair, lambda rule: dig(rule, "taints"))
        if nodes := [name for name in new if name not in old and name in _names(pair)[0]]:
            message = f"{kind_of(nodes, 'node')} takes no new pods"
            details = (_STAY, "a workload of Kueue on a pool with topology moves to a free node")
            yield _placed(change, pair, message, ("excluded", nodes[0]), details)


@impact("IMP125", Level.NONE)
def nodes_return(change: Change) -> Impacts:
    """A node of a pool of existing nodes is no longer excluded."""
    for pair in _rules(change):
        old, new = _by_rule(pair, lambda rule: dig(rule, "taints"))
        if nodes := [name for name in old if name not in new and name in _names(pair)[1]]:
            message = f"{kind_of(nodes, 'node')} takes pods again"
            yield _placed(change, pair, message, ("excluded",), (f"before the merge: kubectl get node {nodes[0]}",))


@impact("IMP126", Level.RESTRICTS)
def spare_is_promised(change: Change) -> Impacts:
    """A pool gets fewer spares, so quotas can use more of its nodes."""
    for pair in _rules(change):
        old, new = (pool_of(state.cluster, pair.name) for state in (change.before, change.after))
        if old and new and new.spares < old.spares and new.promised_nodes > old.promised_nodes:
            message = f"the pool has {counted(new.spares, 'spare')} instead of {old.spares}"
            rest = "after the next failure of a node" if not new.spares else f"after {new.spares + 1} failures"
            yield _placed(change, pair, message, ("spares",), (f"{rest}, quotas promise more nodes than are ready",))


@impact("IMP127", Level.RESTRICTS)
def racks_change(change: Change) -> Impacts:
    """A node moves to another rack."""
    for pair in _rules(change):
        old, new = _by_rule(pair, lambda rule: labels(dig(rule, "labels")).get(LEVEL_LABELS["rack"]))
        nodes = [name for name in new if name in old and new[name] != old[name]]
        for rack in dict.fromkeys(new[name] for name in nodes):
            moved = [name for name in nodes if new[name] == rack]
            message = f"{kind_of(moved, 'node')} gets the label of rack {rack}; pods that run stay"
            path = next(iter(change.changed_paths("spec", "cloud", SECTIONS.name, "racks")), ())
            yield Raised(f"node pool {pair.name}", message, path=path)


def _placed(change: Change, pair: Pair, message: str, field: tuple[str, ...], details: tuple[str, ...]) -> Raised:
    """Returns the impact at a field of the section of the pool, or at the changed field of the section."""
    section = ("spec", "pools", pair.name, SECTIONS.pool_key)
    path = next(iter(change.changed_paths(*section, *field)), next(iter(change.changed_paths(*section)), section))
    return Raised(f"node pool {pair.name}", message, path=path, details=details)


@impact("IMP118", Level.DISRUPTS)
def layout_of_existing_nodes(change: Change) -> Impacts:
    """The MIG layout of existing nodes changes, and the nodes keep the old layout."""
    for pair in _rules(change):
        old, new = (pool_of(state.cluster, pair.name) for state in (change.before, change.after))
        if old is None or new is None or not old.sharing or not new.sharing:
            continue
        if old.sharing.kind != "mig" or old.sharing.layouts == new.sharing.layouts:
            continue
        nodes = counted(len(_names(pair)[1]), "node")
        if new.sharing.kind == "mig":
            message, details = f"{nodes} keep the old MIG layout until their MIG manager restarts", _NEW_LAYOUT
        else:
            message, details = f"{nodes} keep their MIG slices while pods use the GPUs", _NO_LAYOUT
        yield Raised(f"node pool {pair.name}", message, path=sharing_path(change, new), details=details)

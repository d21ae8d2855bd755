"""Taints of node pools that flavors and pods do not tolerate."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from gpuc.cluster.index import Index
from gpuc.cluster.pool import Pool
from gpuc.cluster.queue import from_objects
from gpuc.diagnostics.finding import Path, Rule, Severity, declare_rule
from gpuc.diagnostics.spelling import misspelt, write
from gpuc.kubernetes.node_pool import HOSTNAME, INSTANCE_TYPE, NODE_POOL, WELL_KNOWN, is_well_known, normal
from gpuc.kubernetes.toleration import Taint, Toleration, tolerated
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import dig, items, pairs
from gpuc.objects.pods import Pods
from gpuc.objects.selectors import taints, tolerations

FLAVOR_KEPT_OFF = declare_rule(
    "REF022",
    Severity.ERROR,
    "A ResourceFlavor neither tolerates nor lists a taint of the nodes that it selects.",
    "Kueue admits pods that do not tolerate the taint: the pods stay Pending and occupy the quota.",
    "Kueue v0.19.2, pkg/scheduler/flavorassigner/flavorassigner.go (FindMatchingUntoleratedTaint)",
)
LEFT_TO_ADMISSION = declare_rule(
    "REF084",
    Severity.WARNING,
    "A ResourceFlavor relies on an admission plugin to add the toleration of a device's taint.",
    "With the admission plugin ExtendedResourceToleration, as on EKS, pods that request the device get the "
    "toleration. Without the plugin Kueue admits the pods, and the pods stay Pending.",
    "k8s.io/kubernetes v1.35.4 plugin/pkg/admission/extendedresourcetoleration/admission.go",
)
UNKNOWN_NODE_TAINT = declare_rule(
    "REF023",
    Severity.WARNING,
    "A ResourceFlavor lists a node taint that none of its nodes has.",
    "Kueue does not admit work without the toleration to the flavor, although its nodes would accept the pods.",
    "Kueue v0.19.2, apis/kueue/v1beta2/resourceflavor_types.go (nodeTaints)",
)
PODS_KEPT_OFF = declare_rule(
    "REF024",
    Severity.ERROR,
    "Pods do not tolerate a taint that all nodes of their node selector have.",
    "None of these nodes accepts the pods: a DaemonSet does not run on the nodes, and other pods stay Pending.",
    "https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/",
)
MISSPELT_TAINT = declare_rule(
    "REF082",
    Severity.WARNING,
    "The key of a toleration is probably a misspelt taint of a node pool.",
    "The pods do not tolerate the taint: a DaemonSet does not run on the nodes, and other pods stay Pending.",
    "https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/",
)
OTHER_NODES_POSSIBLE = declare_rule(
    "REF085",
    Severity.WARNING,
    "Pods or a ResourceFlavor do not tolerate a taint of the node pools with the selected labels.",
    "The pods stay Pending, unless the cluster has other nodes with the labels, for example of a managed node group.",
    "https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/",
)
_ON_ALL_NODES = frozenset((*WELL_KNOWN, HOSTNAME)) - {NODE_POOL, INSTANCE_TYPE}
"""Labels that nodes outside of the node pools have too, so that these labels select no node pool."""


def findings(index: Index) -> Iterator[ObjectFinding]:
    """Yields findings about taints that flavors or pods do not tolerate, and taints of flavors that no node has."""
    if not index.nodes.pools:
        return
    queues = () if index.tree.is_complete else from_objects(index.tree).by_name.values()
    devices = frozenset(resource for queue in queues for resource in queue.covered)
    added = [] if index.tree.is_complete else [toleration for pods in index.pods for toleration in _with_key(pods)]
    for flavor in index.tree.of("kueue.x-k8s.io", "ResourceFlavor"):
        labels = dig(flavor.body, "spec", "nodeLabels")
        if labels and (pools := index.nodes.matching(labels)):
            if rule := _flavor_rule(labels, index):
                yield from _flavor(flavor, pools, added, devices, rule)
            yield from _unknown_taints(flavor, pools)
    keys = {taint.key for pool in index.nodes.pools for taint in (*pool.taints, *pool.startup_taints)}
    for pods in index.pods:
        reported = list(_pods(pods, index))
        yield from reported or _misspelt_keys(pods, keys)


def _flavor_rule(labels: Any, index: Index) -> Rule | None:
    """Returns the rule for a flavor that does not tolerate the taints of its node pools.

    A label that is not well known is a label of the node pools. Other nodes have it only if the input has other nodes.
    """
    keys = {normal(key) for key, _ in pairs(labels)}
    if index.nodes.is_complete and not all(is_well_known(key) for key in keys):
        return FLAVOR_KEPT_OFF
    return _rule(keys, FLAVOR_KEPT_OFF, index)


def _rule(keys: Iterable[str], certain: Rule, index: Index) -> Rule | None:
    """Returns the rule for pods with node labels that do not tolerate the taints of all node pools with the labels.

    Returns None if all nodes have the labels. Partial input may lack nodes that have the same labels as a node pool.
    """
    selecting = set(keys) - _ON_ALL_NODES
    if index.tree.is_complete or NODE_POOL in selecting:
        return certain
    return OTHER_NODES_POSSIBLE if selecting else None


def _flavor(
    flavor: Manifest, pools: list[Pool], added: Iterable[Toleration], devices: frozenset[str], certain: Rule
) -> Iterator[ObjectFinding]:
    spec = dig(flavor.body, "spec")
    accepted = (*tolerations(dig(spec, "tolerations")), *added)
    listed = set(map(str, taints(dig(spec, "nodeTaints"))))
    unmet_taints: list[tuple[Pool, Taint]] = []
    for pool in pools:
        unmet = [taint for taint in _unmet(pool, accepted) if str(taint) not in listed]
        if not unmet:
            return
        unmet_taints += [(pool, taint) for taint in unmet]
    first = unmet_taints[0][0]
    for pool, taint in unmet_taints:
        if pool is first:
            message = (
                f"nodes of NodePool {pool.name} have the taint {taint}, which the flavor neither tolerates nor lists"
            )
            path, fix = _intended(dig(spec, "tolerations"), taint)
            is_device_taint = taint.key in devices and taint.effect == "NoSchedule" and not fix
            rule = LEFT_TO_ADMISSION if is_device_taint else certain
            yield ObjectFinding(rule, flavor, ("spec", *path), message, fix)


def _unmet(pool: Pool, accepted: Sequence[Toleration]) -> list[Taint]:
    return [taint for taint in pool.taints if taint.keeps_off and not tolerated(taint, accepted)]


def _with_key(pods: Pods) -> list[Toleration]:
    """Returns the tolerations of pods that have a key; an empty list for DaemonSets, which are agents of nodes."""
    return [toleration for toleration in pods.tolerations if toleration.key and pods.manifest.kind != "DaemonSet"]


def _intended(raw: Any, taint: Taint) -> tuple[Path, str]:
    """Returns the path of the toleration that was meant for a taint, and the fix."""
    for number, toleration in items(raw):
        key = dig(toleration, "key")
        if key == taint.key:
            field = "value" if dig(toleration, "effect") in (None, "", taint.effect) else "effect"
            return ("tolerations", number, field), write(str(getattr(taint, field)))
        if isinstance(key, str) and misspelt(key, [taint.key]):
            return ("tolerations", number, "key"), write(taint.key)
    return ("tolerations",), ""


def _unknown_taints(flavor: Manifest, pools: list[Pool]) -> Iterator[ObjectFinding]:
    """Yields findings about taints in nodeTaints that no node of the flavor has."""
    existing = sorted({str(taint) for pool in pools for taint in (*pool.taints, *pool.startup_taints)})
    names = ", ".join(pool.name for pool in pools[:3])
    for taint in taints(dig(flavor.body, "spec", "nodeTaints")):
        if str(taint) not in existing:
            others = f"; their taints are {', '.join(existing)}" if existing else ""
            message = f"nodes of NodePool {names} do not have the taint {taint}{others}"
            yield ObjectFinding(UNKNOWN_NODE_TAINT, flavor, ("spec", "nodeTaints", taint.index), message)


def _pods(pods: Pods, index: Index) -> Iterator[ObjectFinding]:
    labels = dict(pairs(dig(pods.spec, "nodeSelector")))
    keys = {normal(key) for key in labels if isinstance(key, str)}
    rule = _rule(keys & index.nodes.values.keys(), PODS_KEPT_OFF, index)
    pools = index.nodes.matching(labels) if rule and keys & index.nodes.values.keys() else []
    if rule is None or not pools or pods.queue:
        return
    unmet = [_unmet(pool, pods.tolerations) for pool in pools]
    requested = {name for _, name in pods.resources()}
    if all(unmet) and not (not index.tree.is_complete and all(taint.key in requested for taint in unmet[0])):
        names = ", ".join(str(taint) for taint in unmet[0])
        message = f"nodes of NodePool {pools[0].name} have the taint {names}, which the pods do not tolerate"
        yield ObjectFinding(rule, pods.manifest, (*pods.path, "spec", "tolerations"), message)


def _misspelt_keys(pods: Pods, keys: set[str]) -> Iterator[ObjectFinding]:
    """Yields findings about tolerations with a misspelt key, unless the pods tolerate the correct key too."""
    rows = items(dig(pods.spec, "tolerations"))
    tolerations = [(number, key) for number, row in rows if (key := dig(row, "key"))]
    known = {key for _, key in tolerations if isinstance(key, str)}
    for number, key in tolerations:
        if isinstance(key, str) and key not in keys and (suggestion := misspelt(key, keys)) and suggestion not in known:
            message = f'no node pool has the taint "{key}", did you mean "{suggestion}"'
            path: Path = (*pods.path, "spec", "tolerations", number, "key")
            yield ObjectFinding(MISSPELT_TAINT, pods.manifest, path, message, write(suggestion))

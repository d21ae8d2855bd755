"""Taints of node pools, against what flavors and pods tolerate."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from gpuc.diagnostics.finding import Path, Severity, declare_rule
from gpuc.diagnostics.spelling import misspelt, write
from gpuc.kubernetes.toleration import Taint, Toleration, tolerated
from gpuc.manifest.manifest import Manifest
from gpuc.objects.index import Index
from gpuc.objects.node_pools import Pool
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import ObjectSet, dig, items, pairs
from gpuc.objects.pods import Pods
from gpuc.objects.selectors import taints, tolerations

FLAVOR_KEPT_OFF = declare_rule(
    "REF022",
    Severity.ERROR,
    "A ResourceFlavor neither tolerates nor names a taint of the nodes that it selects.",
    "Kueue admits pods that the nodes keep off: they stay Pending and hold the quota.",
    "Kueue v0.19.2, pkg/scheduler/flavorassigner/flavorassigner.go (FindMatchingUntoleratedTaint)",
)
LEFT_TO_ADMISSION = declare_rule(
    "REF084",
    Severity.WARNING,
    "A ResourceFlavor leaves it to the API server that its pods tolerate a taint named after their device.",
    "Where the admission plugin ExtendedResourceToleration is on, as on EKS, pods that ask for the device get the "
    "toleration; elsewhere Kueue admits them and the nodes keep them off.",
    "k8s.io/kubernetes v1.35.4 plugin/pkg/admission/extendedresourcetoleration/admission.go",
)
PHANTOM_TAINT = declare_rule(
    "REF023",
    Severity.WARNING,
    "A ResourceFlavor names a taint that no node of it has.",
    "Kueue keeps work without the toleration off this flavor although its nodes would take it.",
    "Kueue v0.19.2, apis/kueue/v1beta2/resourceflavor_types.go (nodeTaints)",
)
PODS_KEPT_OFF = declare_rule(
    "REF024",
    Severity.ERROR,
    "Pods select nodes by label and do not tolerate a taint that all of these nodes have.",
    "No node that they select takes them; a DaemonSet is missing there, all else stays Pending.",
    "https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/",
)
NEARLY_A_TAINT = declare_rule(
    "REF082",
    Severity.WARNING,
    "Pods tolerate a taint that no node pool has, and whose key is nearly that of one.",
    "The nodes with the taint keep the pods off: a DaemonSet is missing there, all else stays Pending.",
    "https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/",
)
_QUEUE = "kueue.x-k8s.io/queue-name"


def findings(index: Index) -> Iterator[ObjectFinding]:
    """Taints that keep off what is meant for the nodes."""
    if not index.nodes.pools:
        return
    devices = frozenset() if index.tree.is_complete else _metered(index.tree)
    brought = [] if index.tree.is_complete else [toleration for each in index.pods for toleration in _of_work(each)]
    for flavor in index.tree.of("kueue.x-k8s.io", "ResourceFlavor"):
        labels = dig(flavor.body, "spec", "nodeLabels")
        if labels and (pools := index.nodes.matching(labels)):
            yield from _flavor(flavor, pools, brought, devices)
            yield from _phantoms(flavor, pools)
    keys = {taint.key for pool in index.nodes.pools for taint in (*pool.taints, *pool.startup_taints)}
    for each in index.pods:
        told = list(_pods(each, index))
        yield from told or _nearly(each, keys)


def _metered(tree: ObjectSet) -> frozenset[str]:
    """Resources that any queue covers."""
    queues = tree.of("kueue.x-k8s.io", "ClusterQueue")
    groups = [each for queue in queues for _, each in items(dig(queue.body, "spec", "resourceGroups"))]
    return frozenset(
        name for each in groups for _, name in items(dig(each, "coveredResources")) if isinstance(name, str)
    )


def _flavor(
    flavor: Manifest, pools: list[Pool], brought: Iterable[Toleration], devices: frozenset[str]
) -> Iterator[ObjectFinding]:
    spec = dig(flavor.body, "spec")
    taken = (*tolerations(dig(spec, "tolerations")), *brought)
    named = {(taint.key, taint.value, taint.effect) for taint in taints(dig(spec, "nodeTaints"))}
    closed: list[tuple[Pool, Taint]] = []
    for pool in pools:
        unmet = [each for each in pool.taints if each.keeps_off and not tolerated(each, taken)]
        unmet = [each for each in unmet if (each.key, each.value, each.effect) not in named]
        if not unmet:
            return
        closed += [(pool, each) for each in unmet]
    first = closed[0][0]
    for pool, taint in closed:
        if pool is first:
            message = (
                f"nodes of NodePool {pool.name} have the taint {taint}, which the flavor neither tolerates nor names"
            )
            path, near = _meant(dig(spec, "tolerations"), taint)
            is_given = taint.key in devices and taint.effect == "NoSchedule" and not near
            found = LEFT_TO_ADMISSION if is_given else FLAVOR_KEPT_OFF
            yield ObjectFinding(found, flavor, ("spec", *path), message, near)


def _of_work(each: Pods) -> list[Toleration]:
    """Tolerations of keys that pods bring themselves, agents of nodes left out."""
    return [own for own in each.tolerations if own.key and each.manifest.kind != "DaemonSet"]


def _meant(raw: Any, taint: Taint) -> tuple[Path, str]:
    """Where in a flavor a toleration was meant for a taint, and what it has to say there."""
    for number, each in items(raw):
        key = dig(each, "key")
        if key == taint.key:
            part = "value" if dig(each, "effect") in (None, "", taint.effect) else "effect"
            return ("tolerations", number, part), write(str(getattr(taint, part)))
        if isinstance(key, str) and misspelt(key, [taint.key]):
            return ("tolerations", number, "key"), write(taint.key)
    return ("tolerations",), ""


def _phantoms(flavor: Manifest, pools: list[Pool]) -> Iterator[ObjectFinding]:
    there = [taint for pool in pools for taint in (*pool.taints, *pool.startup_taints)]
    real = {(taint.key, taint.value, taint.effect) for taint in there}
    names = ", ".join(pool.name for pool in pools[:3])
    for taint in taints(dig(flavor.body, "spec", "nodeTaints")):
        if (taint.key, taint.value, taint.effect) not in real:
            have = f"; they have {', '.join(sorted({str(each) for each in there}))}" if there else ""
            message = f"no node of NodePool {names} has the taint {taint}{have}"
            yield ObjectFinding(PHANTOM_TAINT, flavor, ("spec", "nodeTaints", taint.index), message)


def _pods(each: Pods, index: Index) -> Iterator[ObjectFinding]:
    labels = dict(pairs(dig(each.spec, "nodeSelector")))
    named = [key for key in labels if key in index.nodes.values]
    pools = index.nodes.matching(labels) if named else []
    if not pools or _is_queued(each):
        return
    own = each.tolerations
    closed = [[taint for taint in pool.taints if taint.keeps_off and not tolerated(taint, own)] for pool in pools]
    asked = {name for _, name in each.resources()}
    if all(closed) and not (not index.tree.is_complete and all(taint.key in asked for taint in closed[0])):
        shown = ", ".join(str(taint) for taint in closed[0])
        message = f"nodes of NodePool {pools[0].name} have the taint {shown}, which the pods do not tolerate"
        yield ObjectFinding(PODS_KEPT_OFF, each.manifest, (*each.path, "spec", "tolerations"), message)


def _nearly(each: Pods, keys: set[str]) -> Iterator[ObjectFinding]:
    """Tolerations of a misspelt key, unless the pods tolerate the key itself too."""
    tolerations = [(number, key) for number, one in items(dig(each.spec, "tolerations")) if (key := dig(one, "key"))]
    known = {key for _, key in tolerations if isinstance(key, str)}
    for number, key in tolerations:
        if isinstance(key, str) and key not in keys and (near := misspelt(key, keys)) and near not in known:
            message = f'no node pool has the taint "{key}", did you mean "{near}"'
            path: Path = (*each.path, "spec", "tolerations", number, "key")
            yield ObjectFinding(NEARLY_A_TAINT, each.manifest, path, message, write(near))


def _is_queued(each: Pods) -> bool:
    """Whether Kueue starts the pods, with the tolerations of their flavor."""
    inner = dig(each.template, "metadata", "labels", _QUEUE)
    outer = each.manifest.labels.get(_QUEUE)
    job = dig(each.manifest.body, "spec", "jobTemplate", "metadata", "labels", _QUEUE)
    return bool(inner or outer or job)

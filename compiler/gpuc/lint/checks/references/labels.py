"""Node labels: what flavors and pods select, against what the node pools can give."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gpuc.diagnostics.finding import Path, Severity, declare_rule
from gpuc.diagnostics.spelling import instead, misspelt, write
from gpuc.kubernetes.node_pool import WELL_KNOWN, normal
from gpuc.kubernetes.selector import NODE_OPERATORS
from gpuc.manifest.manifest import Manifest
from gpuc.objects.index import Index
from gpuc.objects.node_pools import Nodes
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import dig, items, labels
from gpuc.objects.pods import Pods
from gpuc.objects.selectors import valid_requirements
from gpuc.verify.references.reference import NOT_IN_THESE_FILES

FLAVOR_WITHOUT_NODES = declare_rule(
    "REF020",
    Severity.ERROR,
    "A ResourceFlavor selects nodes by a label that no node pool gives.",
    "Kueue admits work by the flavor's quota and its pods then wait for a node that Karpenter cannot start, holding "
    "the quota. Labels that appear after boot, such as those of GPU feature discovery, do not count.",
    "Karpenter v1.14.1, pkg/scheduling/requirements.go (Compatible)",
)
PODS_WITHOUT_NODES = declare_rule(
    "REF021",
    Severity.ERROR,
    "Pods select nodes by a label that no node pool gives.",
    "Karpenter starts no node for them, and they stay Pending without end.",
    "Karpenter v1.14.1, pkg/scheduling/requirements.go (Compatible)",
)
_QUEUE = "kueue.x-k8s.io/queue-name"


def findings(index: Index) -> Iterator[ObjectFinding]:
    """Selectors of flavors, then of pods, that no node can meet; nothing where the tree has no node pools."""
    if not index.nodes.pools:
        return
    for flavor in index.tree.of("kueue.x-k8s.io", "ResourceFlavor"):
        yield from _flavor(flavor, index)
    for each in index.pods:
        if each.manifest.kind != "DaemonSet" and isinstance(each.spec, dict):
            yield from _selector(each, index)
            yield from _affinity(each, index)


def _flavor(flavor: Manifest, index: Index) -> Iterator[ObjectFinding]:
    nodes, is_complete = index.nodes, index.tree.is_complete
    path: Path = ("spec", "nodeLabels")
    wanted = labels(dig(flavor.body, *path))
    if nodes.matching(wanted):
        return
    is_told = False
    for key, value in wanted.items():
        if not nodes.giving(key, value):
            is_told = True
            message, near, on_key = _nothing_gives(key, [value], nodes)
            if near or nodes.are_all:
                found = FLAVOR_WITHOUT_NODES if is_complete or near else NOT_IN_THESE_FILES
                yield ObjectFinding(found, flavor, (*path, key), message, write(near), on_key)
    if not is_told and nodes.are_all:
        found = FLAVOR_WITHOUT_NODES if is_complete else NOT_IN_THESE_FILES
        yield ObjectFinding(found, flavor, path, "node pools give each of these labels, and none gives all of them")


def _selector(each: Pods, index: Index) -> Iterator[ObjectFinding]:
    nodes = index.nodes
    wanted = labels(dig(each.spec, "nodeSelector"))
    path: Path = (*each.path, "spec", "nodeSelector")
    if not wanted or nodes.matching(wanted):
        return
    is_told = False
    for key, value in wanted.items():
        if not nodes.giving(key, value):
            is_told = True
            yield from _pods_flaw(each, (*path, key), key, [value], index)
    if not is_told and _is_for_pools(each, index):
        found = PODS_WITHOUT_NODES if index.tree.is_complete else NOT_IN_THESE_FILES
        yield ObjectFinding(
            found, each.manifest, path, "node pools give each of these labels, and none gives all of them"
        )


def _affinity(each: Pods, index: Index) -> Iterator[ObjectFinding]:
    where = ("affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms")
    unmet: list[tuple[Path, Any]] = []
    for number, term in items(dig(each.spec, *where)):
        path: Path = (*each.path, "spec", *where, number, "matchExpressions")
        failing = ((place, one) for place, one in items(dig(term, "matchExpressions")) if not _is_met(one, index))
        if (first := next(failing, None)) is None:
            return
        unmet.append(((*path, first[0]), first[1]))
    for path, one in unmet:
        values = [value for _, value in items(dig(one, "values")) if isinstance(value, str)]
        yield from _pods_flaw(each, path, str(dig(one, "key")), values, index)


def _is_met(expression: Any, index: Index) -> bool:
    """Whether some pool meets a requirement; one that the API server refuses is a matter of its schema."""
    return all(index.nodes.meeting((wanted,)) for wanted in valid_requirements([expression], NODE_OPERATORS))


def _pods_flaw(each: Pods, path: Path, key: str, values: list[str], index: Index) -> Iterator[ObjectFinding]:
    message, near, on_key = _nothing_gives(key, values, index.nodes)
    if not near and not _is_for_pools(each, index):
        return
    found = PODS_WITHOUT_NODES if index.tree.is_complete or near else NOT_IN_THESE_FILES
    is_key = on_key and path[-1] == key
    yield ObjectFinding(found, each.manifest, path, message, write(near) if is_key or not on_key else "", is_key)


def _is_for_pools(each: Pods, index: Index) -> bool:
    """Whether the pods are meant for nodes of the tree: of a part of a cluster, other nodes may carry other labels."""
    if index.tree.is_complete:
        return True
    return index.nodes.are_all and (_QUEUE in each.manifest.labels or each.wants_devices)


def _nothing_gives(key: str, values: list[str], nodes: Nodes) -> tuple[str, str, bool]:
    """What to say of a label that no pool gives, what was meant, and whether that is the key."""
    known = {*nodes.values.get(normal(key), ()), *WELL_KNOWN.get(normal(key), ())}
    if known or normal(key) in nodes.keys:
        value = values[0] if len(values) == 1 else ""
        near = misspelt(value, known)
        shown = value or " or ".join(values) or key
        return f'no node pool has {key}: "{shown}"{instead(known, near)}', near, False
    near = misspelt(key, nodes.keys)
    return f'no node pool has the label "{key}"{instead((), near)}', near, True

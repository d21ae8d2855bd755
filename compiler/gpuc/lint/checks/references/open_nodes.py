"""Open nodes: node pools without a taint that what is meant for them tolerates by name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from gpuc.diagnostics.finding import Path, Severity, declare_rule
from gpuc.kubernetes.toleration import Toleration, tolerated, untolerated
from gpuc.manifest.manifest import Manifest
from gpuc.objects.index import Index
from gpuc.objects.node_pools import Pool
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import dig, labels
from gpuc.objects.selectors import tolerations

OPEN_NODES = declare_rule(
    "REF028",
    Severity.WARNING,
    "Nodes lack a taint that a flavor or pods which are meant for them tolerate by name.",
    "Pods that are not meant for these nodes may run there: they take the place beside GPUs, which then stay idle, and "
    "Karpenter starts the expensive nodes for them.",
    "https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/#example-use-cases",
)
_OF_OTHERS = re.compile(r"(?:[\w.-]+\.)?(?:kubernetes\.io|k8s\.io|karpenter\.sh|azure\.com|google\.com)/.*")
"""Taints that programs put on nodes by themselves."""
_AWS = ("karpenter.k8s.aws", "eks.amazonaws.com")
"""Providers that put no taint of GPUs on nodes by themselves, as those of other clouds do."""
_ACCELERATED = re.compile(r"(?:p|g|gr|trn|inf|dl)\d[\w-]*")
"""Instance families of EC2 with accelerators."""
_PREFIX = "karpenter.k8s.aws/instance-"
_PLACE: Path = ("spec", "template", "spec", "taints")
Tolerations = tuple[Toleration, ...]


def findings(index: Index) -> Iterator[ObjectFinding]:
    """Pools that lack a taint: what flavors tolerate, then what pods tolerate."""
    told: set[tuple[str, str]] = set()
    for flavor in index.tree.of("kueue.x-k8s.io", "ResourceFlavor"):
        spec = dig(flavor.body, "spec")
        yield from _of(flavor, dig(spec, "nodeLabels"), tolerations(dig(spec, "tolerations")), index, told)
    for each in index.pods:
        if each.manifest.kind != "DaemonSet":
            yield from _of(each.manifest, dig(each.spec, "nodeSelector"), each.tolerations, index, told)


def _of(
    who: Manifest, selector: Any, taken: Tolerations, index: Index, told: set[tuple[str, str]]
) -> Iterator[ObjectFinding]:
    if not any(key in index.nodes.values for key in labels(selector)) or not index.nodes.are_all:
        return
    pools = index.nodes.matching(selector)
    if all(untolerated(pool.taints, taken) for pool in pools):  # another finding, and the reason of this one
        return
    is_strict = not index.tree.is_complete or who.kind != "ResourceFlavor"
    if is_strict and not all(_is_bare(pool) for pool in pools):
        return
    for key in _missing(taken, pools):
        for pool in pools:
            if (pool.name, key) not in told and not _is_put_by_kubelet(key, pool, index):
                told.add((pool.name, key))
                yield ObjectFinding(OPEN_NODES, pool.manifest, _PLACE, _message(who, key, pool))


def _message(who: Manifest, key: str, pool: Pool) -> str:
    left = ", ".join(str(each) for each in pool.taints if each.keeps_off)
    whose = f"pods that tolerate {left}" if left else "any pods"
    return f"{who} tolerates a taint {key}, which nodes of NodePool {pool.name} do not have: {whose} may run there"


def _missing(taken: Tolerations, pools: list[Pool]) -> Iterator[str]:
    """Keys that are tolerated, and that no taint of any of the pools has which would keep pods off."""
    for key in dict.fromkeys(own.key for own in taken if own.key):
        taints = [each for pool in pools for each in (*pool.taints, *pool.startup_taints) if each.key == key]
        is_there = any(each.keeps_off or tolerated(each, taken) for each in taints)
        if not is_there and not _OF_OTHERS.fullmatch(key):
            yield key


def _is_bare(pool: Pool) -> bool:
    """Whether nothing keeps pods off a pool's nodes, all of which have accelerators."""
    group = pool.node_class[0] if pool.node_class else ""
    return group in _AWS and not any(each.keeps_off for each in pool.taints) and _is_accelerated(pool)


def _is_accelerated(pool: Pool) -> bool:
    for key in ("node.kubernetes.io/instance-type", f"{_PREFIX}family"):
        if known := pool.listed(key):
            return all(_ACCELERATED.fullmatch(name.partition(".")[0]) for name in known)
    return any(key.startswith((f"{_PREFIX}gpu-", f"{_PREFIX}accelerator-")) for key in pool.offer)


def _is_put_by_kubelet(key: str, pool: Pool, index: Index) -> bool:
    """Whether the start script of a pool's nodes speaks of the taint."""
    found = index.tree.find(*pool.node_class) if pool.node_class else None
    return key in str(dig(found.body, "spec", "userData")) if found else False

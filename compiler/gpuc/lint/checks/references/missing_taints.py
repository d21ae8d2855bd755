"""Node pools without a taint, although the flavors or pods that select them tolerate the taint."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from gpuc.cluster.index import Index
from gpuc.diagnostics.finding import Path, Severity, declare_rule
from gpuc.kubernetes.toleration import Toleration, tolerated, untolerated
from gpuc.manifest.manifest import Manifest
from gpuc.objects.node_pools import Pool
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import dig, labels
from gpuc.objects.selectors import tolerations

MISSING_TAINT = declare_rule(
    "REF028",
    Severity.WARNING,
    "A node pool lacks a taint that its flavor or its pods tolerate.",
    "Pods without GPUs may run on these nodes and use up cpu and memory, so that GPUs stay idle. Karpenter may also "
    "start expensive nodes for such pods.",
    "https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/#example-use-cases",
)
_OF_OTHERS = re.compile(r"(?:[\w.-]+\.)?(?:kubernetes\.io|k8s\.io|karpenter\.sh|azure\.com|google\.com)/.*")
"""Taints that Kubernetes, Karpenter and cloud providers add to nodes."""
_AWS = ("karpenter.k8s.aws", "eks.amazonaws.com")
"""API groups of node classes whose provider adds no GPU taint to nodes."""
_ACCELERATED = re.compile(r"(?:p|g|gr|trn|inf|dl)\d[\w-]*")
"""EC2 instance families with accelerators."""
_PREFIX = "karpenter.k8s.aws/instance-"
_TAINTS: Path = ("spec", "template", "spec", "taints")
Tolerations = tuple[Toleration, ...]


def findings(index: Index) -> Iterator[ObjectFinding]:
    """Yields findings about node pools without a taint that flavors or pods tolerate."""
    reported: set[tuple[str, str]] = set()
    for flavor in index.tree.of("kueue.x-k8s.io", "ResourceFlavor"):
        spec = dig(flavor.body, "spec")
        yield from _lacking(flavor, dig(spec, "nodeLabels"), tolerations(dig(spec, "tolerations")), index, reported)
    for pods in index.pods:
        if pods.manifest.kind != "DaemonSet":
            yield from _lacking(pods.manifest, dig(pods.spec, "nodeSelector"), pods.tolerations, index, reported)


def _lacking(
    user: Manifest, selector: Any, accepted: Tolerations, index: Index, reported: set[tuple[str, str]]
) -> Iterator[ObjectFinding]:
    if not any(key in index.nodes.values for key in labels(selector)) or not index.nodes.is_complete:
        return
    pools = index.nodes.matching(selector)
    if all(untolerated(pool.taints, accepted) for pool in pools):  # the check of taints reports these pools
        return
    is_strict = not index.tree.is_complete or user.kind != "ResourceFlavor"
    if is_strict and not all(_is_untainted(pool) for pool in pools):
        return
    for key in _missing(accepted, pools):
        for pool in pools:
            if (pool.name, key) not in reported and not _is_in_user_data(key, pool, index):
                reported.add((pool.name, key))
                yield ObjectFinding(MISSING_TAINT, pool.manifest, _TAINTS, _message(user, key, pool))


def _message(user: Manifest, key: str, pool: Pool) -> str:
    remaining = ", ".join(str(taint) for taint in pool.taints if taint.keeps_off)
    others = f"pods that tolerate {remaining}" if remaining else "all pods"
    message = f"{user} tolerates the taint {key}, which nodes of NodePool {pool.name} do not have"
    return f"{message}; {others} may run on these nodes"


def _missing(accepted: Tolerations, pools: list[Pool]) -> Iterator[str]:
    """Yields the tolerated keys for which no pool has a taint that keeps pods off its nodes."""
    for key in dict.fromkeys(toleration.key for toleration in accepted if toleration.key):
        taints = [taint for pool in pools for taint in (*pool.taints, *pool.startup_taints) if taint.key == key]
        exists = any(taint.keeps_off or tolerated(taint, accepted) for taint in taints)
        if not exists and not _OF_OTHERS.fullmatch(key):
            yield key


def _is_untainted(pool: Pool) -> bool:
    """Returns whether a pool of AWS nodes with accelerators has no taint that keeps pods off its nodes."""
    group = pool.node_class[0] if pool.node_class else ""
    return group in _AWS and not any(taint.keeps_off for taint in pool.taints) and _is_accelerated(pool)


def _is_accelerated(pool: Pool) -> bool:
    for key in ("node.kubernetes.io/instance-type", f"{_PREFIX}family"):
        if known := pool.listed(key):
            return all(_ACCELERATED.fullmatch(name.partition(".")[0]) for name in known)
    return any(key.startswith((f"{_PREFIX}gpu-", f"{_PREFIX}accelerator-")) for key in pool.offer)


def _is_in_user_data(key: str, pool: Pool, index: Index) -> bool:
    """Returns whether the user data of a pool's node class mentions the key of the taint."""
    node_class = index.tree.find(*pool.node_class) if pool.node_class else None
    return key in str(dig(node_class.body, "spec", "userData")) if node_class else False

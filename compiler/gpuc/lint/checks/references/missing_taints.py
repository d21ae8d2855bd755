"""Node pools without a taint that the pods meant for them tolerate."""

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

MISSING_TAINT = declare_rule(
    "REF028",
    Severity.WARNING,
    "A node pool lacks a taint that its flavor or its pods tolerate.",
    "Other pods may run on these nodes. They use the cpu and memory beside the GPUs, which then stay idle, and "
    "Karpenter starts expensive nodes for them.",
    "https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/#example-use-cases",
)
_OF_OTHERS = re.compile(r"(?:[\w.-]+\.)?(?:kubernetes\.io|k8s\.io|karpenter\.sh|azure\.com|google\.com)/.*")
"""Taints that Kubernetes and cloud programs add to nodes."""
_AWS = ("karpenter.k8s.aws", "eks.amazonaws.com")
"""Providers that add no GPU taint to nodes by themselves."""
_ACCELERATED = re.compile(r"(?:p|g|gr|trn|inf|dl)\d[\w-]*")
"""EC2 instance families with accelerators."""
_PREFIX = "karpenter.k8s.aws/instance-"
_PLACE: Path = ("spec", "template", "spec", "taints")
Tolerations = tuple[Toleration, ...]


def findings(index: Index) -> Iterator[ObjectFinding]:
    """Node pools without a taint that flavors tolerate, then without a taint that pods tolerate."""
    reported: set[tuple[str, str]] = set()
    for flavor in index.tree.of("kueue.x-k8s.io", "ResourceFlavor"):
        spec = dig(flavor.body, "spec")
        yield from _lacking(flavor, dig(spec, "nodeLabels"), tolerations(dig(spec, "tolerations")), index, reported)
    for pods in index.pods:
        if pods.manifest.kind != "DaemonSet":
            yield from _lacking(pods.manifest, dig(pods.spec, "nodeSelector"), pods.tolerations, index, reported)


def _lacking(
    user: Manifest, selector: Any, taken: Tolerations, index: Index, reported: set[tuple[str, str]]
) -> Iterator[ObjectFinding]:
    if not any(key in index.nodes.values for key in labels(selector)) or not index.nodes.is_complete:
        return
    pools = index.nodes.matching(selector)
    if all(untolerated(pool.taints, taken) for pool in pools):  # the check of taints reports these pools
        return
    is_strict = not index.tree.is_complete or user.kind != "ResourceFlavor"
    if is_strict and not all(_is_untainted(pool) for pool in pools):
        return
    for key in _missing(taken, pools):
        for pool in pools:
            if (pool.name, key) not in reported and not _is_in_user_data(key, pool, index):
                reported.add((pool.name, key))
                yield ObjectFinding(MISSING_TAINT, pool.manifest, _PLACE, _message(user, key, pool))


def _message(user: Manifest, key: str, pool: Pool) -> str:
    left = ", ".join(str(taint) for taint in pool.taints if taint.keeps_off)
    others = f"pods that tolerate {left}" if left else "all pods"
    message = f"{user} tolerates the taint {key}, which nodes of NodePool {pool.name} do not have"
    return f"{message}; {others} may run on these nodes"


def _missing(taken: Tolerations, pools: list[Pool]) -> Iterator[str]:
    """Tolerated keys for which no pool has a taint that keeps pods off."""
    for key in dict.fromkeys(toleration.key for toleration in taken if toleration.key):
        taints = [taint for pool in pools for taint in (*pool.taints, *pool.startup_taints) if taint.key == key]
        is_there = any(taint.keeps_off or tolerated(taint, taken) for taint in taints)
        if not is_there and not _OF_OTHERS.fullmatch(key):
            yield key


def _is_untainted(pool: Pool) -> bool:
    """Whether a pool of accelerated nodes has no taint that keeps pods off."""
    group = pool.node_class[0] if pool.node_class else ""
    return group in _AWS and not any(taint.keeps_off for taint in pool.taints) and _is_accelerated(pool)


def _is_accelerated(pool: Pool) -> bool:
    for key in ("node.kubernetes.io/instance-type", f"{_PREFIX}family"):
        if known := pool.listed(key):
            return all(_ACCELERATED.fullmatch(name.partition(".")[0]) for name in known)
    return any(key.startswith((f"{_PREFIX}gpu-", f"{_PREFIX}accelerator-")) for key in pool.offer)


def _is_in_user_data(key: str, pool: Pool, index: Index) -> bool:
    """Whether the user data of a pool's nodes mentions the taint."""
    found = index.tree.find(*pool.node_class) if pool.node_class else None
    return key in str(dig(found.body, "spec", "userData")) if found else False

"""Odd ones out: what all node pools and node classes of a tree have alike, and one has otherwise."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TypeVar

from compiler.finding import Path, Severity, fault
from compiler.manifest import Manifest
from compiler.verify.agents import AGENTS
from compiler.verify.flaw import Flaw
from compiler.verify.references.index import Index
from compiler.verify.references.nodes import Pool
from compiler.verify.references.spelling import misspelt, write
from compiler.verify.references.startup import STARTUP_TAINTS
from compiler.verify.tree import dig, items, pairs

ODD_TAG = fault(
    "REF080",
    Severity.WARNING,
    "A node class selects, or is tagged, by a tag that has another value in every other node class.",
    "Karpenter finds no subnet or security group by it, or those of another cluster, and the node class is not ready: "
    "no pool of it starts a node. Instances with another cluster's tag are counted and cleaned up with that cluster.",
    "karpenter-provider-aws v1.14.1, pkg/controllers/nodeclass/subnet.go (SubnetsNotFound)",
)
LABEL_UNLIKE_TAINT = fault(
    "REF027",
    Severity.WARNING,
    "A label and a taint of a node pool have the same key and two values, unlike those of all other pools.",
    "Who selects nodes by the label finds others than those that the taint is on.",
)
NO_STARTUP_TAINT = fault(
    "REF029",
    Severity.WARNING,
    "A node pool is without the startup taint of an agent that all other pools of the cluster wait for.",
    "Pods start on its nodes before the agent does: without their network, or without the volumes that it mounts.",
    "https://docs.cilium.io/en/stable/installation/taints/",
)
_LEAST_OTHERS = 2
_TERMS = ("subnetSelectorTerms", "securityGroupSelectorTerms")
_LABELS: Path = ("spec", "template", "metadata", "labels")
_OF_CLUSTER = "cluster"

_T = TypeVar("_T")


def flaws(index: Index) -> Iterator[Flaw]:
    """Tags of node classes; of a whole cluster, labels and startup taints of node pools too."""
    yield from _tags(index)
    if index.tree.is_whole:
        yield from _labels(index.nodes.pools)
        for key in sorted(AGENTS):
            yield from _startup(key, index.nodes.pools)


def odd_one(seen: Iterable[tuple[_T, str]]) -> tuple[_T, str, str] | None:
    """The one of them that has another value than all others, which have the same: it, its value, and theirs.

    None where there are fewer than two others, or more than one is odd.
    """
    known = list(seen)
    counts = Counter(value for _, value in known)
    if len(counts) != 2 or len(known) <= _LEAST_OTHERS or 1 not in counts.values():
        return None
    (usual, _), (odd, _) = counts.most_common()
    return next((each, odd, usual) for each, value in known if value == odd)


def _tags(index: Index) -> Iterator[Flaw]:
    """Tags that each node class has, in each place of its own or, of two classes, in both of their selectors."""
    classes = index.tree.of("karpenter.k8s.aws", "EC2NodeClass")
    places = {part: [(each, *tag) for each in classes for tag in _selected(each, part)] for part in _TERMS}
    if len(classes) <= _LEAST_OTHERS:
        places = {"": [tag for tags in places.values() for tag in tags]}
    places["tags"] = [(each, *tag) for each in classes for tag in _own(each)]
    for tags in places.values():
        by_key: dict[str, list[tuple[tuple[Manifest, Path], str]]] = {}
        for manifest, path, value in tags:
            by_key.setdefault(str(path[-1]), []).append(((manifest, path), value))
        for key, seen in by_key.items():
            if {id(manifest) for (manifest, _), _ in seen} == {id(each) for each in classes}:
                yield from _odd_tag(key, seen, index)


def _odd_tag(key: str, seen: list[tuple[tuple[Manifest, Path], str]], index: Index) -> Iterator[Flaw]:
    found = odd_one(seen)
    if found is None:
        return
    (manifest, path), value, usual = found
    near = misspelt(value, [usual])
    is_of_cluster = path[1] != "tags" or _OF_CLUSTER in key.rpartition("/")[2]
    if near or (index.tree.is_whole and is_of_cluster):
        message = f'"{value}" stands here, "{usual}" in all {len(seen) - 1} other places of the tag {key}'
        yield Flaw(ODD_TAG, manifest, path, message, write(near))


def _selected(manifest: Manifest, part: str) -> Iterator[tuple[Path, str]]:
    """Tags by which a node class selects; of several terms one is enough, so that none has to be as others are."""
    terms = list(items(dig(manifest.body, "spec", part)))
    for number, term in terms if len(terms) == 1 else ():
        for key, value in pairs(dig(term, "tags")):
            if isinstance(value, str):
                yield ("spec", part, number, "tags", key), value


def _own(manifest: Manifest) -> Iterator[tuple[Path, str]]:
    """Tags that a node class gives to what it makes."""
    for key, value in pairs(dig(manifest.body, "spec", "tags")):
        if isinstance(value, str):
            yield ("spec", "tags", key), value


def _labels(pools: Iterable[Pool]) -> Iterator[Flaw]:
    """Pools whose label and taint of one key differ, where those of at least two others are the same."""
    both: dict[str, list[tuple[Pool, str, set[str]]]] = {}
    for pool in pools:
        labels = dict(pairs(dig(pool.manifest.body, *_LABELS)))
        for key in {taint.key for taint in pool.taints} & {key for key in labels if isinstance(labels[key], str)}:
            values = {taint.value for taint in pool.taints if taint.key == key}
            both.setdefault(key, []).append((pool, labels[key], values))
    for key, found in both.items():
        unlike = [each for each in found if each[1] not in each[2]]
        if len(unlike) == 1 and len(found) > _LEAST_OTHERS:
            pool, label, values = unlike[0]
            message = f"the label says {label}, the taint {key} of the same nodes says {' and '.join(sorted(values))}"
            near = misspelt(label, values)
            yield Flaw(LABEL_UNLIKE_TAINT, pool.manifest, (*_LABELS, key), message, write(near))


def _startup(key: str, pools: Iterable[Pool]) -> Iterator[Flaw]:
    """The one pool that is without the taint of an agent that runs on all nodes, or has it otherwise."""
    seen: list[tuple[Pool, str]] = []
    for pool in pools:
        if pool.gives("kubernetes.io/os", "linux"):
            taint = next((each for each in (*pool.startup, *pool.taints) if each.key == key), None)
            seen.append((pool, str(taint or "")))
    found = odd_one(seen)
    if found is not None and found[2] and not any(misspelt(each.key, [key]) for each in found[0].startup):
        pool, own, usual = found
        place = next((each.index for each in pool.startup if each.key == key), None)
        path = STARTUP_TAINTS if place is None else (*STARTUP_TAINTS, place)
        message = f"it has {own or f'no taint {key}'}; all {len(seen) - 1} other node pools have {usual}"
        yield Flaw(NO_STARTUP_TAINT, pool.manifest, path, message)

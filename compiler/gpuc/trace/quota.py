"""Kueue's arithmetic of quota over ClusterQueues and Cohorts as they stand in objects, while nobody holds anything."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import dig, items
from gpuc.trace.amounts import amount

Key = tuple[str, str]
"""Flavor and resource."""
_DEEPEST = 100
"""Cohorts above one another; a chain that goes on is a circle."""


class Figures(NamedTuple):
    """Quota of one resource in one flavor at one node of the tree."""

    nominal: int
    borrow: int | None
    """The most that it takes of others; None is no limit."""
    lend: int | None
    """The most that it gives to others; None is all."""


@dataclass
class Node:
    """A ClusterQueue or a cohort in the tree of cohorts."""

    name: str
    manifest: Manifest | None = None
    """None for cohorts that queues only name."""
    parent: Node | None = None
    children: list[Node] = field(default_factory=list)
    quotas: dict[Key, Figures] = field(default_factory=dict)
    is_queue: bool = False
    _subtree: dict[Key, int] = field(default_factory=dict)

    def subtree(self, key: Key) -> int:
        """What it owns, with what its children bring in."""
        return self._subtree.get(key, 0)

    def add(self, parts: Mapping[Key, int]) -> None:
        """Adds to what it owns."""
        for key, more in parts.items():
            self._subtree[key] = self._subtree.get(key, 0) + more

    @property
    def brings(self) -> dict[Key, int]:
        """What it brings into its cohort.

        Source: kubernetes-sigs/kueue v0.19.2 pkg/cache/scheduler/resource_node.go, accumulateFromChild
        """
        return {key: whole - self.private(key) for key, whole in self._subtree.items()}

    def private(self, key: Key) -> int:
        """What it never lends: localQuota of the same source as brings."""
        figures = self.quotas.get(key)
        return 0 if figures is None or figures.lend is None else max(0, self.subtree(key) - figures.lend)

    def capacity(self, key: Key) -> int:
        """The most that it can have: potentialAvailable of the same source as brings."""
        if self.parent is None:
            return self.subtree(key)
        most = self.private(key) + self.parent.capacity(key)
        figures = self.quotas.get(key)
        return most if figures is None or figures.borrow is None else min(self.subtree(key) + figures.borrow, most)

    def distance(self, key: Key, wanted: int) -> int:
        """How far up the tree an amount has to be borrowed; 0 is its own.

        Source: kubernetes-sigs/kueue v0.19.2 pkg/scheduler/preemption/classical/hierarchical_preemption.go
        """
        own = self.quotas[key].nominal if key in self.quotas else 0
        if wanted <= own or self.parent is None:
            return 0
        remaining = wanted - max(0, self.private(key))
        cohort = self.parent
        while True:
            if remaining <= cohort.subtree(key):
                return cohort.height
            remaining -= max(0, cohort.private(key))
            if cohort.parent is None:
                return cohort.height
            cohort = cohort.parent

    @property
    def height(self) -> int:
        """Levels below a cohort."""
        below = [child.height + 1 for child in self.children if not child.is_queue]
        return max([min(len(self.children), 1), *below])


def quota_tree(queues: Iterable[Manifest], cohorts: Iterable[Manifest]) -> dict[str, Node]:
    """The node of every ClusterQueue by name. A cohort that is its own ancestor is taken for a root."""
    above = {each.name: Node(each.name, each, quotas=dict(_quotas(each))) for each in cohorts}
    found = {each.name: Node(each.name, each, quotas=dict(_quotas(each)), is_queue=True) for each in queues}
    nodes = [*above.values(), *found.values()]
    for node in nodes:
        spec = dig(node.manifest.body if node.manifest else None, "spec")
        keys = ("cohortName", "cohort") if node.is_queue else ("parentName", "parent")
        parent = next((name for key in keys if isinstance(name := dig(spec, key), str) and name), "")
        node.parent = above.setdefault(parent, Node(parent)) if parent else None
    for node in nodes:
        if not _has_root(node):
            node.parent = None
    for node in nodes:
        node.add({key: figures.nominal for key, figures in node.quotas.items()})
        if node.parent is not None:
            node.parent.children.append(node)
    for node in sorted([*above.values(), *found.values()], key=_depth, reverse=True):
        if node.parent is not None:
            node.parent.add(node.brings)
    return found


def _depth(node: Node) -> int:
    depth, above = 0, node.parent
    while above is not None:
        depth, above = depth + 1, above.parent
    return depth


def _has_root(node: Node) -> bool:
    above: Node | None = node
    for _ in range(_DEEPEST):
        if above is None:
            return True
        above = above.parent
    return False


def _quotas(manifest: Manifest) -> Iterator[tuple[Key, Figures]]:
    for _, part in items(dig(manifest.body, "spec", "resourceGroups")):
        for _, flavor in items(dig(part, "flavors")):
            for _, each in items(dig(flavor, "resources")):
                name = str(dig(each, "name"))
                yield (str(dig(flavor, "name")), name), _figures(name, each)


def _figures(resource: str, quota: Any) -> Figures:
    nominal = amount(resource, dig(quota, "nominalQuota")) or 0
    return Figures(
        nominal, amount(resource, dig(quota, "borrowingLimit")), amount(resource, dig(quota, "lendingLimit"))
    )

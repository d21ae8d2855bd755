"""Kueue's forest of quotas: how much a ClusterQueue or Cohort can have, what is left of it, and who lends the rest.

Source: kubernetes-sigs/kueue v0.19.2 pkg/cache/scheduler/resource_node.go
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple, TypeVar

Key = tuple[str, str]
"""Flavor and resource."""


class Quota(NamedTuple):
    """What one queue or cohort has of one resource of one flavor."""

    nominal: int
    borrow: int | None = None
    """The most that it takes of others; None is no limit."""
    lend: int | None = None
    """The most that it gives to others; None is all."""


@dataclass(eq=False)
class Node:
    """A ClusterQueue, or a Cohort. `connect` makes a forest of several."""

    name: str
    is_queue: bool = False
    parent_name: str = ""
    quotas: dict[Key, Quota] = field(default_factory=dict)
    parent: Node | None = None
    is_circular: bool = False
    """Whether a cohort above it is its own ancestor: Kueue admits nothing there, and here it is a root by itself."""
    subtree: dict[Key, int] = field(default_factory=dict)
    """Its nominal quota, with what its children lend."""
    height: int = 0
    """Levels of cohorts below a cohort: 1 of one that has queues only."""

    @property
    def to_root(self) -> Iterator[Node]:
        """Itself and every cohort above it."""
        node: Node | None = self
        while node is not None:
            yield node
            node = node.parent

    def private(self, key: Key) -> int:
        """What it never lends (localQuota)."""
        quota = self.quotas.get(key)
        return 0 if quota is None or quota.lend is None else max(0, self.subtree.get(key, 0) - quota.lend)

    def capacity(self, key: Key) -> int:
        """The most that it can have while no other queue has anything (potentialAvailable)."""
        return self.available(key, {})

    def lent(self, key: Key) -> int:
        """The most that others lend to it, whatever its own limit is."""
        if self.parent is None:
            return 0
        return self.parent.capacity(key) + self.private(key) - self.subtree.get(key, 0)

    def available(self, key: Key, usage: Usage) -> int:
        """What it can have beside what is used; below zero where more is used than there is."""
        *below, root = self.to_root
        found = root.subtree.get(key, 0) - usage.get((root, key), 0)
        for node in reversed(below):
            private, used = node.private(key), usage.get((node, key), 0)
            quota = node.quotas.get(key)
            if quota is not None and quota.borrow is not None:
                stored = node.subtree.get(key, 0) - private
                found = min(stored - max(0, used - private) + quota.borrow, found)
            found += max(0, private - used)
        return found

    def distance(self, key: Key, wanted: int, usage: Usage) -> int:
        """How far up the tree an amount has to be borrowed; 0 is its own.

        Source: the same, pkg/scheduler/preemption/classical/hierarchical_preemption.go
        (FindHeightOfLowestSubtreeThatFits)
        """
        remaining, height = wanted, 0
        for node in self.to_root:
            used, height = usage.get((node, key), 0), node.height
            if used + remaining <= node.subtree.get(key, 0):
                break
            remaining -= max(0, node.private(key) - used)
        return height


Usage = Mapping[tuple[Node, Key], int]
"""What is used at each node: by a ClusterQueue its own, by a Cohort what its children have of what they lend to it."""
N = TypeVar("N", bound=Node)


def hold(node: Node, key: Key, count: int, usage: dict[tuple[Node, Key], int]) -> None:
    """Adds to what a ClusterQueue uses, and to what the cohorts above it do (addUsage)."""
    for above in node.to_root:
        free = max(0, above.private(key) - usage.get((above, key), 0))
        usage[above, key] = usage.get((above, key), 0) + count
        count -= free
        if count <= 0:
            return


def connect(queues: Iterable[N], cohorts: Iterable[N], named: Callable[[str], N]) -> list[N]:
    """Joins nodes by their `parent_name` and adds up what each brings into its cohort. All nodes, parents first.

    Args:
        named: makes a cohort that no object defines.
    """
    above = {cohort.name: cohort for cohort in cohorts}
    nodes = [*above.values(), *queues]
    for node in tuple(nodes):
        if node.parent_name and node.parent_name not in above:
            above[node.parent_name] = named(node.parent_name)
            nodes.append(above[node.parent_name])
        node.parent = above.get(node.parent_name)
    for circular in [node for node in nodes if _is_circular(node)]:
        circular.is_circular, circular.parent = True, None
    depth = {node: sum(1 for _ in node.to_root) for node in nodes}
    nodes.sort(key=depth.__getitem__)
    for node in nodes:
        node.subtree = {key: quota.nominal for key, quota in node.quotas.items()}
    for node in reversed(nodes):
        if node.parent is not None:
            node.parent.height = max(node.parent.height, node.height + 1)
            for key, count in node.subtree.items():
                node.parent.subtree[key] = node.parent.subtree.get(key, 0) + count - node.private(key)
    return nodes


def _is_circular(node: Node) -> bool:
    passed = {node}
    for _, above in pairwise(node.to_root):
        if above in passed:
            return True
        passed.add(above)
    return False

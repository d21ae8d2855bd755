"""Computes nominal quota, borrowing and lending in the tree of ClusterQueues and Cohorts in the same way as Kueue.

Source: kubernetes-sigs/kueue v0.19.2 pkg/cache/scheduler/resource_node.go
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import pairwise
from types import MappingProxyType
from typing import TypeVar

from msgspec import Struct, field

Key = tuple[str, str]
"""The name of the flavor, and the resource."""


class Quota(Struct, frozen=True):
    """The nominal quota and the limits of a ClusterQueue or Cohort, for one resource of one ResourceFlavor."""

    nominal: int
    borrow: int | None = None
    """The borrowing limit; None if there is no limit."""
    lend: int | None = None
    """The lending limit; None if there is no limit."""


class Node(Struct, eq=False):
    """A ClusterQueue or a Cohort, as a node in a tree. The function `connect` builds the trees."""

    name: str
    is_queue: bool = False
    parent_name: str = ""
    quotas: dict[Key, Quota] = field(default_factory=dict)
    parent: "Node | None" = None
    is_circular: bool = False
    """Whether the cohorts above the node form a cycle. Kueue admits no workload then; `connect` removes the parent."""
    subtree: dict[Key, int] = field(default_factory=dict)
    """The nominal quota of the node plus the quota that its children lend (SubtreeQuota in Kueue)."""
    height: int = 0
    """The height of the tree below the node: 0 for a queue, 1 for a cohort that has only queues."""

    @property
    def to_root(self) -> "Iterator[Node]":
        """The node itself, its parent, the parent's parent and so on."""
        node: Node | None = self
        while node is not None:
            yield node
            node = node.parent

    @property
    def root(self) -> "Node":
        """The node at the top of the tree. Without a parent, this is the node itself."""
        return list(self.to_root)[-1]

    def local_quota(self, key: Key) -> int:
        """Returns the quota that the node keeps for itself because of its lending limit (localQuota in Kueue)."""
        quota = self.quotas.get(key)
        return 0 if quota is None or quota.lend is None else max(0, self.subtree.get(key, 0) - quota.lend)

    def capacity(self, key: Key) -> int:
        """Returns how much quota the node can use when nothing else uses quota (potentialAvailable in Kueue)."""
        return self.available(key, {})

    def lent(self, key: Key) -> int:
        """Returns how much quota the other queues can lend to the node. Ignores the borrowing limit of the node."""
        if self.parent is None:
            return 0
        return self.parent.capacity(key) + self.local_quota(key) - self.subtree.get(key, 0)

    def available(self, key: Key, usage: "Usage") -> int:
        """Returns how much quota the node can still use, also borrowed quota; negative if it uses too much already."""
        *below, root = self.to_root
        unused = root.subtree.get(key, 0) - usage.get((root, key), 0)
        for node in reversed(below):
            private, used = node.local_quota(key), usage.get((node, key), 0)
            quota = node.quotas.get(key)
            if quota is not None and quota.borrow is not None:
                stored = node.subtree.get(key, 0) - private
                unused = min(stored - max(0, used - private) + quota.borrow, unused)
            unused += max(0, private - used)
        return unused

    def distance(self, key: Key, wanted: int, usage: "Usage") -> int:
        """Returns the height of the lowest subtree with enough quota for the node; 0 if the node's own quota is enough.

        Source: kubernetes-sigs/kueue v0.19.2 pkg/scheduler/preemption/classical/hierarchical_preemption.go
        (FindHeightOfLowestSubtreeThatFits)
        """
        remaining, height = wanted, 0
        for node in self.to_root:
            used, height = usage.get((node, key), 0), node.height
            if used + remaining <= node.subtree.get(key, 0):
                break
            remaining -= max(0, node.local_quota(key) - used)
        return height


Usage = Mapping[tuple[Node, Key], int]
"""Usage by node. The usage of a Cohort is the usage of its children above the quota that the children do not lend."""
NOTHING: Usage = MappingProxyType({})
"""The usage of a cluster without workloads."""
N = TypeVar("N", bound=Node)


def add_usage(node: Node, key: Key, count: int, usage: dict[tuple[Node, Key], int]) -> None:
    """Adds an amount to the used quota of a ClusterQueue and of the Cohorts above it (addUsage in Kueue)."""
    for above in node.to_root:
        free = max(0, above.local_quota(key) - usage.get((above, key), 0))
        usage[above, key] = usage.get((above, key), 0) + count
        count -= free
        if count <= 0:
            return


def connect(queues: Iterable[N], cohorts: Iterable[N], named: Callable[[str], N]) -> list[N]:
    """Connects ClusterQueues and Cohorts to trees, and computes the quota of subtrees. Returns parents before children.

    Args:
        named: creates the Cohort for a name that is a parent, but for which there is no Cohort object.
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
                node.parent.subtree[key] = node.parent.subtree.get(key, 0) + count - node.local_quota(key)
    return nodes


def _is_circular(node: Node) -> bool:
    visited = {node}
    for _, above in pairwise(node.to_root):
        if above in visited:
            return True
        visited.add(above)
    return False
